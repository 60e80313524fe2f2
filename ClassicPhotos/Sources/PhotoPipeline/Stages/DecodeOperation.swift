public import Imaging
public import Operations

/// Decodes a photo's bytes to pixels: upright, in sRGB, no larger than necessary for display.
///
/// The operation can also apply filters. It does so in the memory of the decoded pixels, while a
/// ``FilterOperation`` leaves the decoded pixels to others and needs memory of its own.
public final class DecodeOperation: TypedOperation<Bitmap>, @unchecked Sendable {
    /// Creates a decoding that runs after a download.
    ///
    /// - Parameters:
    ///   - source: provides the bytes; becomes a dependency.
    ///   - box: the box that the picture is shrunk to fit; nil for its full size.
    ///   - filters: filters that are applied to the decoded pixels, in order.
    ///   - parts: what to keep in addition to the first frame in 8 bits.
    ///   - limits: the limits that the header must meet before any pixel is decoded.
    ///   - acceptsDamage: whether to decode an incomplete or damaged file as far as possible.
    ///   - capacity: the resources shared with other pixel work. The operation takes one processor.
    ///     It takes no memory, because the header is unknown before the download; see
    ///     ``PixelCapacity``.
    public init(
        after source: TypedOperation<[UInt8]>, fitting box: PixelSize?,
        applying filters: [ImageFilter] = [], keeping parts: PictureParts = [],
        limits: ImageLimits = .standard, acceptingDamage acceptsDamage: Bool = false,
        capacity: PixelCapacity = .shared
    ) {
        let timeLimit = decodingTimeLimit + (filters.isEmpty ? .zero : filteringTimeLimit)
        super.init(
            body: pixelWork(timeLimit: timeLimit) { cancellation throws(PhotoStageStop) in
                let bytes = try source.requireOutput()
                return try pixelStage(.decode) { () throws(ImagingError) in
                    try ImageEngine.apply(
                        filters,
                        to: ImageEngine.decode(
                            bytes, fitting: box, keeping: parts, limits: limits,
                            acceptingDamage: acceptsDamage, cancellation: cancellation),
                        cancellation: cancellation)
                }
            })
        addDependency(source, on: .success)
        apply(capacity.processor)
        name = "Decode"
    }
}
