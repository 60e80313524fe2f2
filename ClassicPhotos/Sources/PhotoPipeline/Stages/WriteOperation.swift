import Imaging
import Operations

/// Writes a picture file into a folder, completely or not at all.
final class WriteOperation: TypedOperation<OutputFile>, @unchecked Sendable {
    /// Creates a writing that runs after an encoding.
    ///
    /// Cancel the dependency, not this operation: a cancelled operation has no output, so a file
    /// that was just put into place would be missing from the results.
    ///
    /// - Parameter write: writes the picture.
    init(
        after source: TypedOperation<EncodedImage>,
        _ write: @escaping @Sendable (EncodedImage) async throws -> OutputFile
    ) {
        super.init { () async throws -> OutputFile in try await write(source.requireOutput()) }
        addDependency(source, on: .success)
        name = "Write"
    }
}
