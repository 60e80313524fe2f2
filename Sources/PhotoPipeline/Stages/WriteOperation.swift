import Imaging
import Operations

/// Puts a picture file into a folder, whole or not at all.
final class WriteOperation: TypedOperation<OutputFile>, @unchecked Sendable {
    /// Makes a writing that runs after an encoding.
    ///
    /// Cancel what it depends on, not this: a cancelled operation has no output, so a file that was
    /// just put into its place would be nobody's.
    ///
    /// - Parameter place: decides where the file goes, now that its format is known.
    init(
        after source: TypedOperation<EncodedImage>,
        to place: @escaping @Sendable (ImageFormat) -> OutputPath
    ) {
        super.init(
            body: {
                let image = try source.requireOutput()
                let path = place(image.format)
                do throws(FileProblem) {
                    try AtomicFile.write(image.bytes, to: path)
                } catch {
                    throw PhotoStageStop.failed(
                        PhotoFailure(stage: .write, reason: error.sentence, isRetryable: true))
                }
                return OutputFile(path: path, size: image.size, byteCount: image.bytes.count)
            })
        addDependency(source, on: .success)
        name = "Write"
    }
}
