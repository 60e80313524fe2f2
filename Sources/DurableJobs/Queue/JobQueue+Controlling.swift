#if DurableJobs
import FoundationEssentials

extension JobQueue {
    /// Deletes staged files that dead workers have left in a folder.
    ///
    /// Staged files of running attempts, and of committed attempts that are not yet published,
    /// stay. Files of other stores cannot be told from those of this one, so the jobs of one folder
    /// belong in one store.
    ///
    /// - Parameter folder: the folder of the final files.
    /// - Returns: the number of deleted files.
    @discardableResult
    public func removeStagedFiles(in folder: String) async throws -> Int {
        let staging = StagePath.staging(in: folder)
        guard FileManager.default.fileExists(atPath: staging) else { return 0 }
        let files = try FileManager.default.contentsOfDirectory(atPath: staging)
            .compactMap { name in StagePath.attempt(of: name).map { (name, $0) } }
        let isRunning = try await store.running(files.map(\.1))
        var count = 0
        for (file, isRunning) in zip(files, isRunning) where !isRunning {
            try FileManager.default.removeItem(atPath: "\(staging)/\(file.0)")
            count += 1
        }
        return count
    }

    /// Cancels a job that has not ended. A job that runs is asked to stop, by its worker's next
    /// heartbeat, and ends when its body has returned.
    ///
    /// - Parameters:
    ///   - id: the job.
    ///   - reason: a text for people; ``JobCancellation`` has it.
    /// - Returns: the state after the call: ended, or `running`.
    /// - Throws: ``JobError/unknownJobs(_:)``.
    @discardableResult
    public func cancel(
        _ id: JobID, because reason: String = "it was asked to stop"
    ) async throws -> JobState {
        let text = JobCoding.describe(PermanentFailure(reason))
        guard let state = try await store.cancel(id, because: text) else {
            throw JobError.unknownJobs([id])
        }
        signals.jobsEnded()
        return state
    }

    /// Makes a job available again that was discarded or cancelled, or that waits for its time. Its
    /// retries count from the beginning.
    ///
    /// Jobs that were cancelled because of this job's failure stay cancelled.
    ///
    /// - Returns: false if the job is in another state, was archived, or if an unfinished job has
    ///   the same unique key.
    @discardableResult
    public func retry(_ id: JobID) async throws -> Bool {
        let isAvailable = try await store.retry(id)
        if isAvailable { signals.jobsAdded() }
        return isAvailable
    }

    /// Moves jobs that ended some time ago to the archive, where only their results remain. Workers
    /// do this themselves, as their options say.
    ///
    /// - Parameters:
    ///   - age: the time since their end.
    ///   - archiveAge: how long the archive keeps jobs after their end; nil deletes them at once.
    /// - Returns: the number of jobs moved or deleted.
    @discardableResult
    public func prune(
        endedFor age: Duration, archivingFor archiveAge: Duration? = .seconds(30 * 86_400)
    ) async throws -> Int {
        try await store.prune(
            endedFor: age.limitedForStore, keepingFor: archiveAge?.limitedForStore)
    }
}
#endif
