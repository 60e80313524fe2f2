public import DurableJobs
import FoundationEssentials
public import PhotoPipeline
import Synchronization

/// What a worker provides to its jobs: a maker of results, and the folders that it has opened.
public final class PhotoWorkshop: Sendable {
    let maker: ResultMaker
    private let report: @Sendable (String) -> Void
    private let state = Mutex(State())

    private struct State {
        var folders: [FolderKey: Task<OutputFolder, any Error>] = [:]
        var reported: Set<String> = []
        var results: [JobID: PhotoBatch.Result] = [:]
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
    ///   - report: called once for each reason for which this worker cannot carry out jobs, with a
    ///     sentence; on any thread.
    public init(maker: ResultMaker, report: @escaping @Sendable (String) -> Void) {
        (self.maker, self.report) = (maker, report)
    }

    func keep(_ result: PhotoBatch.Result, of job: JobID) {
        state.withLock { $0.results[job] = result }
    }

    /// Returns what this worker made of the photo of a job that has ended, once; nil if the job
    /// ended otherwise.
    public func takeResult(of job: JobID) -> PhotoBatch.Result? {
        state.withLock { $0.results.removeValue(forKey: job) }
    }

    /// Returns the open folder for the results of a job.
    ///
    /// - Throws: `PostponedAttempt` if this machine does not see the folder or the photo's folder.
    func folder(of job: PhotoJob) async throws -> OutputFolder {
        guard OutputFolder.identity(of: job.folder) == job.folderIdentity else {
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

    /// The error for a job that this worker cannot carry out now. The folder is opened again for
    /// the next attempt.
    func postpone(_ job: PhotoJob, because reason: String) async -> PostponedAttempt {
        let isNew = state.withLock { state in
            state.folders[job.folderKey] = nil
            return state.reported.insert(reason).inserted
        }
        if isNew { report(reason) }
        return PostponedAttempt(reason, for: .seconds(10))
    }
}

extension PhotoJob {
    fileprivate var folderKey: PhotoWorkshop.FolderKey {
        PhotoWorkshop.FolderKey(path: folder, overwrites: overwrites, run: run)
    }
}
