public import Imaging
public import Operations

/// Decodes a photo's bytes to pixels: upright, in sRGB, no larger than necessary for display.
public final class DecodeOperation: TypedOperation<Bitmap>, @unchecked Sendable {
    /// Creates a decoding that runs after a download.
    ///
    /// - Parameters:
    ///   - source: provides the bytes; becomes a dependency.
    ///   - box: the box that the picture is shrunk to fit; nil for its full size.
    ///   - parts: what to keep in addition to the first frame in 8 bits.
    ///   - limits: the limits that the header must meet before any pixel is decoded.
    ///   - acceptsDamage: whether to decode an incomplete or damaged file as far as possible.
    ///   - capacity: the resources shared with other pixel work. The operation takes one processor.
    ///     It takes no memory, because the header is unknown before the download; see
    ///     ``PixelCapacity``.
    public init(
        after source: TypedOperation<[UInt8]>, fitting box: PixelSize?,
        keeping parts: PictureParts = [], limits: ImageLimits = .standard,
        acceptingDamage acceptsDamage: Bool = false, capacity: PixelCapacity = .shared
    ) {
        super.init(
            body: pixelWork(timeLimit: .seconds(20)) { cancellation throws(PhotoStageStop) in
                let bytes = try source.requireOutput()
                return try pixelStage(.decode) { () throws(ImagingError) in
                    try ImageEngine.decode(
                        bytes, fitting: box, keeping: parts, limits: limits,
                        acceptingDamage: acceptsDamage, cancellation: cancellation)
                }
            })
        addDependency(source, on: .success)
        apply(capacity.processor)
        name = "Decode"
    }
}
