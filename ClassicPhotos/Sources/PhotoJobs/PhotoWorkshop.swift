public import DurableJobs
public import PhotoLibrary
import PhotoPipeline
import Synchronization

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What a worker provides to its jobs: a maker of results, and the folders that it has opened.
public final class PhotoWorkshop: Sendable {
    /// What this worker made of a photo.
    public struct Product: Sendable {
        /// The result.
        public let result: PhotoBatch.Result
        /// Whether the file went into the queue, because this machine does not see the folder.
        public let isAttached: Bool
    }

    let maker: ResultMaker
    private let report: @Sendable (String) -> Void
    private let state = Mutex(State())

    private struct State {
        var folders: [FolderKey: Task<OutputFolder, any Error>] = [:]
        var reported: Set<String> = []
        /// Jobs whose results are too large for the queue, with the reasons.
        var largeJobs: [JobID: String] = [:]
        var products: [JobID: Product] = [:]
    }

    fileprivate struct FolderKey: Hashable {
        let path: String
        let overwrites: Bool
        let run: String
    }

    /// Makes a workshop.
    ///
    /// - Parameters:
    ///   - maker: processes the photos.
    ///   - report: called once for each reason for which this worker cannot carry out jobs or sends
    ///     results through the queue, with a sentence; on any thread.
    public init(maker: ResultMaker, report: @escaping @Sendable (String) -> Void) {
        (self.maker, self.report) = (maker, report)
    }

    func keep(_ result: PhotoBatch.Result, of job: JobID, isAttached: Bool = false) {
        state.withLock { $0.products[job] = Product(result: result, isAttached: isAttached) }
    }

    /// Returns what this worker made of the photo of a job that has ended, once; nil if the job
    /// ended otherwise.
    public func takeProduct(of job: JobID) -> Product? {
        state.withLock { $0.products.removeValue(forKey: job) }
    }

    /// Returns the open folder for the results of a job; nil if this machine does not see the
    /// folder, and the photo is on the web.
    ///
    /// A local photo needs the folder: a machine that does not see the folder may have other
    /// pictures at the path of the photo.
    ///
    /// - Throws: `Snooze` if this machine does not see a folder that the job needs.
    func folder(of job: PhotoJob) async throws -> OutputFolder? {
        guard OutputFolder.identity(of: job.folder) == job.folderIdentity else {
            guard job.task.isLocal else {
                reportOnce(
                    "This worker does not see the folder \(job.folder) of the results. It sends "
                        + "them through the queue.")
                return nil
            }
            throw await postpone(
                job,
                because: "This worker does not see the folder \(job.folder) of the results. Mount "
                    + "it at the same path, or start workers on machines that have it.")
        }
        if let folder = job.task.missingSourceFolder {
            throw await postpone(
                job,
                because: "This worker does not see the folder \(folder) of photos. Mount it at the "
                    + "same path, or start workers on machines that have it.")
        }
        let task = state.withLock { state in
            if let task = state.folders[job.folderKey] { return task }
            // A worker rarely has jobs of several runs, and reading a folder again does no harm.
            if state.folders.count >= 8 { state.folders = [:] }
            let task: Task<OutputFolder, any Error> = Task.detached {
                try OutputFolder(path: Array(job.folder.utf8), overwrites: job.overwrites)
            }
            state.folders[job.folderKey] = task
            return task
        }
        do {
            return try await task.value
        } catch {
            throw await postpone(job, because: "\(error)")
        }
    }

    /// Notes that the result of a job is too large for the queue, so that this worker does not make
    /// it again.
    func noteTooLarge(_ job: JobID, because reason: String) {
        state.withLock { state in
            if state.largeJobs.count >= 100_000 { state.largeJobs = [:] }
            state.largeJobs[job] = reason
        }
    }

    /// Why the result of a job is too large for the queue; nil if it is not, or was never made.
    func whyTooLarge(_ job: JobID) -> String? { state.withLock { $0.largeJobs[job] } }

    /// The error for a job that this worker cannot carry out now. The folder is opened again for
    /// the next attempt.
    func postpone(_ job: PhotoJob, because reason: String) async -> Snooze {
        state.withLock { $0.folders[job.folderKey] = nil }
        reportOnce(reason)
        return Snooze(for: .seconds(10), because: reason)
    }

    private func reportOnce(_ text: String) {
        if state.withLock({ $0.reported.insert(text).inserted }) { report(text) }
    }
}

extension PhotoJob {
    fileprivate var folderKey: PhotoWorkshop.FolderKey {
        PhotoWorkshop.FolderKey(path: folder, overwrites: overwrites, run: run)
    }
}
