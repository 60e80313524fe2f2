public import Imaging
public import Operations

/// Reads a photo's header, which says what its decoding will need.
public final class InspectOperation: TypedOperation<ImageInfo>, @unchecked Sendable {
    /// Makes an inspection that runs after a download.
    ///
    /// - Parameters:
    ///   - source: where the bytes come from; becomes a dependency.
    ///   - limits: what is refused.
    public init(after source: TypedOperation<[UInt8]>, limits: ImageLimits = .standard) {
        super.init(body: {
            let bytes = try source.requireOutput()
            return try pixelStage(.decode) { () throws(ImagingError) in
                try ImageEngine.inspect(bytes, limits: limits)
            }
        })
        addDependency(source, on: .success)
        name = "Inspect"
    }
}
