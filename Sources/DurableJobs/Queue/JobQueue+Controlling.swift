#if DurableJobs
import OperationsRuntime

extension JobQueue {
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
        guard let state = try await cancelAll([id], because: reason)[id] else {
            throw JobError.unknownJobs([id])
        }
        return state
    }

    /// Cancels many jobs, as ``cancel(_:because:)`` cancels one. Each transaction cancels
    /// 200 of them; if one fails, the jobs of earlier ones stay cancelled.
    ///
    /// - Returns: the state of each job after the call, without jobs that the store does not know.
    @discardableResult
    public func cancelAll(
        _ ids: [JobID], because reason: String = "they were asked to stop"
    ) async throws -> [JobID: JobState] {
        let text = JobCoding.describe(PermanentFailure(reason))
        var states: [JobID: JobState] = [:]
        for part in ids.parts(of: Self.changesOfTransaction) {
            let changed = try await store.cancel(part, because: text) { ended in
                guard let observer = observer.withLock({ $0 }) else { return }
                for job in ended { observer.workerReports(job.event) }
            }
            states.merge(changed) { $1 }
            signals.jobsEnded()
        }
        return states
    }

    /// Retries a job that was discarded or cancelled, or that waits for its time. Its retries count
    /// from the beginning.
    ///
    /// The job becomes available, or waits for those of its dependencies that have not ended. Jobs
    /// that were cancelled because of this job's failure stay cancelled.
    ///
    /// - Returns: false if the job is in another state, was archived, or if an unfinished job has
    ///   the same unique key; and if a dependency has ended in another way than its condition
    ///   demands: retry both with ``retryAll(_:)``.
    @discardableResult
    public func retry(_ id: JobID) async throws -> Bool {
        try await !retryAll([id]).isEmpty
    }

    /// Retries many jobs, as ``retry(_:)`` does for one, and dependencies before their dependents.
    /// Each transaction changes 200 of them; if one fails, the changes of earlier ones stay.
    ///
    /// - Returns: the jobs that were retried.
    @discardableResult
    public func retryAll(_ ids: [JobID]) async throws -> Set<JobID> {
        var retried: Set<JobID> = []
        var rest = Set(ids).sorted()
        while true {
            let count = retried.count
            for part in rest.parts(of: Self.changesOfTransaction) {
                let part = try await store.retry(part)
                if !part.isEmpty { signals.jobsAdded() }
                retried.formUnion(part)
            }
            // A dependency may have come in a later transaction than its dependent.
            guard rest.count > Self.changesOfTransaction, retried.count > count else {
                return retried
            }
            rest.removeAll(where: retried.contains)
        }
    }

    /// The number of jobs that one transaction cancels or retries. A transaction keeps their rows
    /// locked until its end, and workers wait for them.
    private static let changesOfTransaction = 200

    /// Moves jobs of this queue that ended some time ago to the archive, where only their results
    /// remain. The queue's workers do this themselves, as their options say.
    ///
    /// - Parameters:
    ///   - age: the time since their end.
    ///   - deadAge: the time since the end of discarded jobs, and of jobs that were cancelled
    ///     because of them, during which they can be listed and retried; `age` if that is longer.
    ///   - archiveAge: how long the archive keeps jobs after their end; nil deletes them at once.
    /// - Returns: the number of jobs moved or deleted.
    @discardableResult
    public func prune(
        endedFor age: Duration, discardedFor deadAge: Duration = .seconds(30 * 86_400),
        archivingFor archiveAge: Duration? = .seconds(30 * 86_400)
    ) async throws -> Int {
        try await store.prune(
            in: name, endedFor: age.limitedForStore, discardedFor: deadAge.limitedForStore,
            keepingFor: archiveAge?.limitedForStore
        ).moved
    }
}
#endif
