public import Imaging
public import Operations

/// Reads a photo's header, which determines the resources for decoding.
public final class InspectOperation: TypedOperation<ImageInfo>, @unchecked Sendable {
    /// Creates an inspection that runs after a download.
    ///
    /// - Parameters:
    ///   - source: provides the bytes; becomes a dependency.
    ///   - limits: the limits that the header must meet.
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
