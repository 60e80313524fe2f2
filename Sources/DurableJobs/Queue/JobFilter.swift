#if DurableJobs
import OperationsRuntime

/// Which jobs of a queue ``JobQueue/cancelAll(where:because:)`` and ``JobQueue/retryAll(where:)``
/// are about: those that meet all conditions that are given.
///
/// ```swift
/// try await jobs.retryAll(where: JobFilter(name: Mail.name, error: "timed out"))
/// try await jobs.cancelAll(where: JobFilter(key: tenant))
/// ```
public struct JobFilter: Sendable {
    /// The name of the jobs' type; any if nil.
    public var name: String?
    /// The states of the jobs; those that the call can change if empty.
    public var states: Set<JobState>
    /// A key of the jobs, as ``JobTrait/unique(by:)``, ``JobTrait/exclusive(by:)`` or
    /// ``JobTrait/limited(to:by:)`` got it; any jobs if nil.
    public var key: (any Encodable & Sendable)?
    /// The number of the jobs' batch, ``JobBatch/id``; any jobs if nil.
    public var batch: Int64?
    /// A part of ``JobInfo/error``, in the same case; any jobs if nil.
    public var error: String?

    /// Makes a filter. Without any condition it lets all jobs of the queue pass.
    public init(
        name: String? = nil, states: Set<JobState> = [],
        key: (any Encodable & Sendable)? = nil, batch: Int64? = nil, error: String? = nil
    ) {
        (self.name, self.states, self.key, self.batch) = (name, states, key, batch)
        self.error = error
    }

    /// The stored form.
    ///
    /// - Parameter possible: the states of the jobs that the call can change.
    /// - Throws: ``JobError/invalidTrait(_:)`` if the key has no stored form.
    func stored(among possible: Set<JobState>) throws -> StoredFilter {
        StoredFilter(
            name: name, states: states.isEmpty ? possible : states.intersection(possible),
            key: try key.map { try JobKey.digest($0, for: "JobFilter(key:)") }, batch: batch,
            error: error.flatMap { $0.isEmpty ? nil : $0 })
    }
}

extension JobQueue {
    /// Cancels the jobs of the queue that a filter lets pass and that have not ended, as
    /// ``cancel(_:because:)`` cancels one. Jobs that are enqueued after the call has begun stay.
    ///
    /// Each transaction cancels 200 of them at most; if one fails, the jobs of earlier ones stay
    /// cancelled.
    ///
    /// - Returns: the number of jobs that were cancelled, or were asked to stop.
    /// - Complexity: O(number of jobs in the store).
    @discardableResult
    public func cancelAll(
        where filter: JobFilter, because reason: String = "they were asked to stop"
    ) async throws -> Int {
        let text = JobCoding.describe(PermanentFailure(reason))
        let filter = try filter.stored(
            among: [.blocked, .scheduled, .available, .running, .retryable])
        return try await changeAll { [store, name] place in
            try await store.cancel(where: filter, in: name, &place, because: text) { ended in
                guard let observer = observer.withLock({ $0 }) else { return }
                for job in ended { observer.workerReports(job.event) }
            }
        } changed: {
            signals.jobsEnded()
        }
    }

    /// Retries the jobs of the queue that a filter lets pass, as ``retryAll(_:)`` does: those that
    /// were discarded or cancelled, and those that wait for another attempt; scheduled ones only if
    /// the filter names their state.
    ///
    /// Each transaction retries 200 of them at most; if one fails, the changes of earlier ones
    /// stay.
    ///
    /// - Returns: the number of jobs that were retried.
    /// - Complexity: O(number of jobs in the store).
    @discardableResult
    public func retryAll(where filter: JobFilter) async throws -> Int {
        let possible: Set<JobState> =
            filter.states.isEmpty
            ? [.discarded, .cancelled, .retryable]
            : [.discarded, .cancelled, .retryable, .scheduled]
        let filter = try filter.stored(among: possible)
        return try await changeAll { [store, name] place in
            try await store.retry(where: filter, in: name, &place)
        } changed: {
            signals.jobsAdded()
        }
    }

    private func changeAll(
        _ portion: (inout FilterPlace) async throws -> Int, changed: () -> Void
    ) async throws -> Int {
        var place = try await store.firstFilterPlace()
        var total = 0
        while !place.isEnd {
            try Task.checkCancellation()
            let count = try await portion(&place)
            total += count
            if count > 0 { changed() }
        }
        return total
    }
}
#endif
