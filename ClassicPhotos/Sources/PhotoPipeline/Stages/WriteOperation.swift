import FoundationEssentials
import Imaging
import Operations

/// Writes a picture file into a folder, completely or not at all.
final class WriteOperation: TypedOperation<OutputFile>, @unchecked Sendable {
    /// Creates a writing that runs after an encoding.
    ///
    /// Cancel the dependency, not this operation: a cancelled operation has no output, so a file
    /// that was just put into place would be missing from the results.
    ///
    /// - Parameters:
    ///   - place: returns the destination and the origin of the file; called once the format is
    ///     known.
    init(
        after source: TypedOperation<EncodedImage>, into folder: OutputFolder,
        to place: @escaping @Sendable (ImageFormat) -> (OutputPath, ResultOrigin)
    ) {
        super.init { () async throws -> OutputFile in
            let image = try source.requireOutput()
            let (path, origin) = place(image.format)
            try await folder.write(image.bytes, to: path, from: origin)
            return OutputFile(path: path, size: image.size, byteCount: image.bytes.count)
        }
        addDependency(source, on: .success)
        name = "Write"
    }
}
