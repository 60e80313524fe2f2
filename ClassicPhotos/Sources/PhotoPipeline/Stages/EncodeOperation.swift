public import Imaging
public import Operations

/// Encodes a photo's pixels as a picture file in memory.
public final class EncodeOperation: TypedOperation<EncodedImage>, @unchecked Sendable {
    /// Creates an encoding that runs after the stage that provides the pixels.
    ///
    /// - Parameters:
    ///   - source: provides the pixels; becomes a dependency.
    ///   - quality: the quality for JPEG and WebP, from 1 to 100.
    ///   - capacity: the resources shared with other pixel work; the operation takes one processor.
    ///   - format: returns the format; called once the pixels are available.
    public init(
        after source: TypedOperation<Bitmap>, quality: Int, capacity: PixelCapacity = .shared,
        as format: @escaping @Sendable () -> ImageFormat = { .jpeg }
    ) {
        super.init(
            body: pixelWork(timeLimit: encodingTimeLimit) { cancellation throws(PhotoStageStop) in
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
