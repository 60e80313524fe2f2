public import Imaging
public import Operations

/// Makes pixels of a photo's bytes: upright, in sRGB, no larger than they will be shown.
public final class DecodeOperation: TypedOperation<Bitmap>, @unchecked Sendable {
    private let source: TypedOperation<[UInt8]>
    private let box: PixelSize?
    private let limits: ImageLimits
    private let capacity: PixelCapacity

    /// Makes a decoding that runs after a download.
    ///
    /// - Parameters:
    ///   - source: where the bytes come from; becomes a dependency.
    ///   - box: the picture is shrunk to fit in it; nil for its full size.
    ///   - limits: what is refused before any pixel is decoded.
    ///   - capacity: what it shares with other work on pixels. It takes a processor of it, and
    ///     memory if ``reserveMemory()`` was called.
    public init(
        after source: TypedOperation<[UInt8]>, fitting box: PixelSize?,
        limits: ImageLimits = .standard, capacity: PixelCapacity = .shared
    ) {
        self.source = source
        self.box = box
        self.limits = limits
        self.capacity = capacity
        super.init(
            body: pixelWork(timeLimit: .seconds(20)) { cancellation throws(PhotoStageStop) in
                let bytes = try source.requireOutput()
                return try pixelStage(.decode) { () throws(ImagingError) in
                    try ImageEngine.decode(
                        bytes, fitting: box, limits: limits, cancellation: cancellation)
                }
            })
        addDependency(source, on: .success)
        apply(capacity.processor)
        name = "Decode"
    }

    /// Has the decoding take as much of the shared memory as the photo's header says that it needs.
    ///
    /// To be called when the source has finished, on a thread that may work for some milliseconds.
    /// Does nothing if the source has no bytes, or their header is refused: then the decoding needs
    /// no memory.
    ///
    /// - Precondition: the operation is in no queue yet.
    public func reserveMemory() {
        guard case .produced(let bytes) = source.outcome,
            let info = try? ImageEngine.inspect(bytes, limits: limits)
        else { return }
        apply(capacity.memory(ImageEngine.memoryToDecode(info, fitting: box)))
    }
}
