public import Imaging
public import Operations

/// Makes pixels of a photo's bytes: upright, in sRGB, no larger than they will be shown.
public final class DecodeOperation: TypedOperation<Bitmap>, @unchecked Sendable {
    /// Makes a decoding that runs after a download.
    ///
    /// - Parameters:
    ///   - source: where the bytes come from; becomes a dependency.
    ///   - box: the picture is shrunk to fit in it; nil for its full size.
    ///   - limits: what is refused before any pixel is decoded.
    public init(
        after source: TypedOperation<[UInt8]>, fitting box: PixelSize?,
        limits: ImageLimits = .standard
    ) {
        super.init(
            body: pixelWork(timeLimit: .seconds(20)) { cancellation throws(PhotoStageStop) in
                let bytes = try source.requireOutput()
                return try pixelStage(.decode) { () throws(ImagingError) in
                    try ImageEngine.decode(
                        bytes, fitting: box, limits: limits, cancellation: cancellation)
                }
            })
        addDependency(source, on: .success)
        name = "Decode"
    }
}
