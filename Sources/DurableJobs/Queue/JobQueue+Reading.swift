#if DurableJobs
public import Operations

#if canImport(FoundationEssentials)
public import FoundationEssentials
#else
public import Foundation
#endif

/// A job as it is in the store at one moment.
public struct JobInfo: Sendable, Hashable {
    /// The number of the job.
    public let id: JobID
    /// The name of the job's type.
    public let name: String
    /// Where the job is in its life.
    public let state: JobState
    /// The job's priority.
    public let priority: Operations.Operation.QueuePriority
    /// The number of times that workers have claimed the job.
    public let attempt: Int
    /// When the job was enqueued.
    public let enqueuedAt: Date
    /// When the last attempt began; nil if there was none.
    public let startedAt: Date?
    /// When the job ended; nil if it has not ended.
    public let endedAt: Date?
    /// Why the last attempt failed, or why the job was cancelled.
    public let error: String?
    /// The machine of the worker that has claimed the job; nil if none has. A worker has claimed a
    /// few more jobs than it runs. If it has died, the job keeps the machine until its lease ends.
    public let host: String?
    private let version: Int
    private let argumentData: Data?

    /// Returns the job with its arguments.
    ///
    /// - Returns: nil for a job of another type, and for an archived job.
    /// - Throws: an error if the arguments cannot be decoded.
    public func job<J: Job>(as type: J.Type) throws -> J? {
        guard name == J.name, let argumentData else { return nil }
        return try J.decode(argumentData, version: version)
    }

    init(_ job: StoredJob) {
        (id, name, state, attempt, error) = (job.id, job.name, job.state, job.attempt, job.error)
        host = job.state == .running ? job.host : nil
        (version, argumentData) = (job.version, job.arguments)
        priority = Operations.Operation.QueuePriority(rawValue: job.priority) ?? .normal
        enqueuedAt = Date(milliseconds: job.enqueuedAt)
        startedAt = job.startedAt.map { Date(milliseconds: $0) }
        endedAt = job.endedAt.map { Date(milliseconds: $0) }
    }
}

extension JobQueue {
    /// Returns a job of the store; nil if the store does not know it.
    public func info(_ id: JobID) async throws -> JobInfo? {
        try await store.job(id).map(JobInfo.init)
    }

    /// Returns jobs of the queue in the order of their numbers, without archived ones.
    ///
    /// - Parameters:
    ///   - states: the states to return; all if empty.
    ///   - name: the name of the type of job; any if nil.
    ///   - id: the jobs after this one, to read a long list in parts.
    ///   - limit: how many jobs to return at most.
    public func list(
        states: [JobState] = [], name: String? = nil, after id: JobID? = nil, limit: Int = 100
    ) async throws -> [JobInfo] {
        try await store.jobs(
            in: self.name, states: states, name: name, after: id, limit: max(0, limit)
        ).map(JobInfo.init)
    }

    /// Returns the number of jobs in each state, without archived ones.
    ///
    /// - Complexity: O(number of jobs in the queue).
    public func counts() async throws -> [JobState: Int] { try await store.counts(of: name) }

    /// Says why a job does not run, or what became of it, in words for people.
    ///
    /// - Throws: ``JobError/unknownJobs(_:)``.
    public func explain(_ id: JobID) async throws -> String {
        guard let job = try await store.job(id) else { throw JobError.unknownJobs([id]) }
        return try await JobExplainer(store: store, now: try await store.now()).explain(job)
    }
}
#endif
