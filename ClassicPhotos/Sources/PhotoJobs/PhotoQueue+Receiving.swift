import DurableJobFiles
import DurableJobs
import Operations
import PhotoLibrary
import PhotoPipeline

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

// Results of workers that do not see the folder: `process` fetches them from the queue.

extension PhotoQueue {
    /// Returns the result of a photo whose job has completed. If the file is in the queue, puts it
    /// into the folder first.
    ///
    /// - Throws: an error of the store, after some attempts.
    func receive(
        _ photo: Followed, _ output: PhotoJob.Output, in folder: OutputFolder
    ) async throws -> PhotoBatch.Result {
        let task = photo.job.task
        let file = output.file(of: task, in: folder)
        if let delivery = output.delivery {
            // Cancelling the task of the command does not cancel this operation.
            let receipt = receiving.add("Receive", .retry(6)) {
                try await write(file, of: photo, delivery, into: folder)
            }
            return try await receipt.value
        }
        guard output.isUnchanged else { return .written(file) }
        // The job may be that of an earlier command, which saw a result that was deleted since.
        guard photo.job.known != nil || folder.hasResult(of: task, at: file.path) else {
            return .failed(.lost(file.path, "was deleted while the photo was in the queue"))
        }
        return .unchanged(file.path)
    }

    /// Puts a file into the folder, and then removes it from the queue.
    ///
    /// If this process dies before the removal, the same command again joins the same job, and
    /// writes the same file again. A file that cannot be written stays in the queue.
    private func write(
        _ file: OutputFile, of photo: Followed, _ delivery: PhotoDelivery,
        into folder: OutputFolder
    ) async throws -> PhotoBatch.Result {
        let task = photo.job.task
        if let problem = folder.generalProblem {
            return .failed(PhotoFailure(stage: .write, reason: problem, isRetryable: true))
        }
        guard let bytes = try await jobs.attachment(of: photo.handle.id) else {
            // Another process with the same command may have fetched the file.
            guard folder.hasResult(of: task, at: file.path) else {
                return .failed(.lost(file.path, "is not in the queue any more"))
            }
            return .written(file)
        }
        let result = await folder.write(Array(bytes), as: file, of: task, delivery)
        if case .written = result { try await jobs.removeAttachment(of: photo.handle.id) }
        return result
    }
}

extension PhotoFailure {
    fileprivate static func lost(_ path: OutputPath, _ reason: String) -> PhotoFailure {
        PhotoFailure(
            stage: .write, reason: "\(path) \(reason). Run the same command again.",
            isRetryable: true)
    }
}
