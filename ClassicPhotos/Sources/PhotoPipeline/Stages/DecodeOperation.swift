public import Imaging
public import Operations

/// Decodes a photo's bytes to pixels: upright, in sRGB, no larger than necessary for display.
public final class DecodeOperation: TypedOperation<Bitmap>, @unchecked Sendable {
    private let source: TypedOperation<[UInt8]>
    private let box: PixelSize?
    private let parts: PictureParts
    private let limits: ImageLimits
    private let capacity: PixelCapacity

    /// Creates a decoding that runs after a download.
    ///
    /// - Parameters:
    ///   - source: provides the bytes; becomes a dependency.
    ///   - box: the box that the picture is shrunk to fit; nil for its full size.
    ///   - parts: what to keep in addition to the first frame in 8 bits.
    ///   - limits: the limits that the header must meet before any pixel is decoded.
    ///   - acceptsDamage: whether to decode an incomplete or damaged file as far as possible.
    ///   - capacity: the resources shared with other pixel work. The operation takes one processor,
    ///     and memory if ``reserveMemory()`` was called.
    public init(
        after source: TypedOperation<[UInt8]>, fitting box: PixelSize?,
        keeping parts: PictureParts = [], limits: ImageLimits = .standard,
        acceptingDamage acceptsDamage: Bool = false, capacity: PixelCapacity = .shared
    ) {
        self.source = source
        self.box = box
        self.parts = parts
        self.limits = limits
        self.capacity = capacity
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

    /// Makes the decoding take the memory that the photo's header requires from the shared budget.
    ///
    /// Call this method when the source has finished, on a thread that may block for some
    /// milliseconds. The call has no effect if the source has no bytes or the header is rejected,
    /// because the decoding then needs no memory.
    ///
    /// - Precondition: the operation has not been added to a queue.
    public func reserveMemory() {
        guard case .produced(let bytes) = source.outcome,
            let info = try? ImageEngine.inspect(bytes, limits: limits)
        else { return }
        apply(capacity.memory(ImageEngine.memoryToDecode(info, fitting: box, keeping: parts)))
    }
}
