public import Imaging
public import Operations

/// Makes a picture file, in memory, of a photo's pixels.
public final class EncodeOperation: TypedOperation<EncodedImage>, @unchecked Sendable {
    /// Makes an encoding that runs after the stage that makes the pixels.
    ///
    /// - Parameters:
    ///   - source: where the pixels come from; becomes a dependency.
    ///   - quality: 1 to 100 for JPEG and WebP.
    ///   - capacity: what it shares with other work on pixels; it takes a processor of it.
    ///   - format: asked for when the pixels are there.
    public init(
        after source: TypedOperation<Bitmap>, quality: Int, capacity: PixelCapacity = .shared,
        as format: @escaping @Sendable () -> ImageFormat = { .jpeg }
    ) {
        super.init(
            body: pixelWork(timeLimit: .seconds(60)) { cancellation throws(PhotoStageStop) in
                let bitmap = try source.requireOutput()
                return try pixelStage(.encode) { () throws(ImagingError) in
                    try ImageEngine.encode(
                        bitmap, as: format(), quality: quality, cancellation: cancellation)
                }
            })
        addDependency(source, on: .success)
        apply(capacity.processor)
        name = "Encode"
    }
}
