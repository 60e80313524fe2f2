public import Imaging
public import Operations

/// Applies filters to a photo's pixels.
public final class FilterOperation: TypedOperation<Bitmap>, @unchecked Sendable {
    /// Creates a filtration that runs after a decoding and takes one processor of the capacity.
    public convenience init(
        _ filters: [ImageFilter], after source: TypedOperation<Bitmap>,
        capacity: PixelCapacity = .shared
    ) {
        self.init(filters, capacity) { () throws(PhotoStageStop) in try source.requireOutput() }
        addDependency(source, on: .success)
    }

    /// Creates a filtration of existing pixels that takes one processor of the capacity.
    public convenience init(
        _ filters: [ImageFilter], of bitmap: Bitmap, capacity: PixelCapacity = .shared
    ) {
        self.init(filters, capacity) { () throws(PhotoStageStop) in bitmap }
    }

    private init(
        _ filters: [ImageFilter], _ capacity: PixelCapacity,
        input: @escaping @Sendable () throws(PhotoStageStop) -> Bitmap
    ) {
        super.init(
            body: pixelWork(timeLimit: filteringTimeLimit) { cancellation throws(PhotoStageStop) in
                let bitmap = try input()
                return try pixelStage(.filter) { () throws(ImagingError) in
                    try ImageEngine.apply(filters, to: bitmap, cancellation: cancellation)
                }
            })
        apply(capacity.processor)
        name = "Filter"
    }
}
