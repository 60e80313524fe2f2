import FoundationEssentials
import Imaging
import Operations

/// Puts a picture file into a folder, whole or not at all.
final class WriteOperation: TypedOperation<OutputFile>, @unchecked Sendable {
    /// Makes a writing that runs after an encoding.
    ///
    /// Cancel what it depends on, not this: a cancelled operation has no output, so a file that was
    /// just put into its place would be nobody's.
    ///
    /// - Parameters:
    ///   - photo: what the picture was made of.
    ///   - place: decides where the file goes, now that its format is known.
    init(
        after source: TypedOperation<EncodedImage>, of photo: URL, into folder: OutputFolder,
        to place: @escaping @Sendable (ImageFormat) -> OutputPath
    ) {
        super.init { () async throws -> OutputFile in
            let image = try source.requireOutput()
            let path = place(image.format)
            try await folder.write(image.bytes, to: path, from: photo)
            return OutputFile(path: path, size: image.size, byteCount: image.bytes.count)
        }
        addDependency(source, on: .success)
        name = "Write"
    }
}
