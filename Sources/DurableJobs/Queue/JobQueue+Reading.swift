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
    /// The name of the queue.
    public let queue: String
    /// The name of the job's type.
    public let name: String
    /// Where the job is in its life.
    public let state: JobState
    /// The job's priority.
    public let priority: Operations.Operation.QueuePriority
    /// The number of times that workers have claimed the job.
    public let attempt: Int
    /// The number of attempts that have failed. Deaths of workers do not count.
    public let failures: Int
    /// The number of further attempts after a failure of the next one, or of the present one.
    public let retriesLeft: Int
    /// The number of the job's workers that have died while they held it, since an attempt of it
    /// ended last.
    public let deaths: Int
    /// The number of the job's batch; nil if it has none, and for an archived job.
    public let batch: Int64?
    /// When a job that waits for its time may begin; nil in other states.
    public let runAt: Date?
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
    /// How long the last attempt took, and its end took to be stored; nil if the job has not ended,
    /// or ended without an attempt, and for an archived job.
    public var runTime: Duration? {
        guard let startedAt, let endedAt, attempt > 0 else { return nil }
        return .milliseconds(Int64((endedAt.timeIntervalSince(startedAt) * 1000).rounded()))
    }

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
        (queue, batch, deaths, failures) = (job.queue, job.batch, job.deaths, job.failures)
        retriesLeft = job.state.isEnded ? 0 : max(0, job.retryLimit - job.failures)
        let waits = job.state == .scheduled || job.state == .retryable
        runAt = waits ? job.runAt.map { Date(milliseconds: $0) } : nil
        host = job.state == .running ? job.host : nil
        (version, argumentData) = (job.version, job.arguments)
        priority = Operations.Operation.QueuePriority(rawValue: job.priority) ?? .normal
        enqueuedAt = Date(milliseconds: job.enqueuedAt)
        startedAt = job.startedAt.map { Date(milliseconds: $0) }
        endedAt = job.endedAt.map { Date(milliseconds: $0) }
    }
}

/// A part of a list of jobs, which
/// ``JobQueue/list(states:name:error:batch:key:since:order:after:limit:)`` returns.
public struct JobPage: RandomAccessCollection, Sendable, Hashable {
    /// The order of a list.
    public enum Order: Sendable, Hashable {
        /// By ascending numbers.
        case oldestFirst
        /// By descending numbers.
        case newestFirst
    }

    private let jobs: [JobInfo]
    /// What to pass as `after:` for the next page; nil after the last page.
    public let next: JobID?

    init(_ page: StoredPage) { (jobs, next) = (page.jobs.map(JobInfo.init), page.next) }

    /// 0.
    public var startIndex: Int { 0 }
    /// The number of jobs.
    public var endIndex: Int { jobs.count }
    /// A job of the page.
    public subscript(index: Int) -> JobInfo { jobs[index] }
}

/// A queue of a store at one moment.
public struct JobQueueInfo: Sendable, Hashable {
    /// The name of the queue.
    public let name: String
    /// The numbers of jobs that have not ended; a state without jobs is missing. Of each state, up
    /// to 10,000 are counted; ``JobQueue/counts()`` counts all.
    public let counts: [JobState: Int]
    /// The number of discarded jobs that are not in the archive, up to 10,000.
    public let discarded: Int
    /// The number of workers that live.
    public let workers: Int

    init(_ queue: StoredQueue) {
        (name, counts, discarded) = (queue.name, queue.counts, queue.discarded)
        workers = queue.workers
    }
}

/// A worker of a queue at one moment.
public struct JobWorkerInfo: Sendable, Hashable {
    /// Names the worker among all, until it loses its lease.
    public let id: String
    /// The name of its machine.
    public let host: String
    /// The number of its process on that machine.
    public let process: Int
    /// When it got its lease first.
    public let startedAt: Date
    /// How many jobs it runs at a time; 0 for a worker of an earlier version of the library.
    public let width: Int
    /// The names of the types that it performs, and their versions.
    public let types: [String: Int]
    /// The jobs that it has claimed. It runs them, or is about to.
    public let jobs: [JobID]
    /// Whether it was asked to stop.
    public let isStopping: Bool
    /// Whether its lease has ended: it has died, or stands still, or has lost the store.
    public let isMissing: Bool

    init(_ worker: StoredWorker) {
        (id, host, process) = (worker.id, worker.host, Int(worker.process))
        startedAt = Date(milliseconds: worker.startedAt)
        (width, jobs) = (worker.width, worker.jobs)
        types = Dictionary(worker.types.map { ($0.name, $0.version) }) { max($0, $1) }
        (isStopping, isMissing) = (worker.isStopping, !worker.isAlive)
    }
}

extension JobQueue {
    /// Returns a job of the store; nil if the store does not know it.
    public func info(_ id: JobID) async throws -> JobInfo? {
        try await store.job(id).map(JobInfo.init)
    }

    /// Returns a page of the queue's jobs in the order of their numbers, without archived ones.
    ///
    /// A page reads a limited number of rows, also of a queue with millions of jobs. So a page that
    /// is limited by `error`, `batch` or `since` may have few jobs, or none, and not be the last:
    /// go on with ``JobPage/next`` until it is nil.
    ///
    /// ```swift
    /// var page = try await jobs.list(states: [.discarded], error: "timeout", order: .newestFirst)
    /// while true {
    ///     for job in page { print(job.id, job.error ?? "") }
    ///     guard let next = page.next else { break }
    ///     page = try await jobs.list(
    ///         states: [.discarded], error: "timeout", order: .newestFirst, after: next)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - states: the states to return; all if empty.
    ///   - name: the name of the type of job; any if nil.
    ///   - error: a part of the error of the last attempt, or of the reason of a cancellation.
    ///     SQLite takes ASCII letters of both cases for the same.
    ///   - batch: the number of a batch.
    ///   - key: the unique key, as in ``JobTrait/unique(by:)``; `name` must be given, too.
    ///   - since: the time from which on the jobs were enqueued, by the store's clock. If that
    ///     clock was set back since, some may be missing.
    ///   - order: whether the jobs with the lowest numbers come first, or those with the highest.
    ///   - id: the jobs after this one in the order: ``JobPage/next`` of the page before, or nil.
    ///   - limit: how many jobs to return at most.
    /// - Throws: ``JobError/invalidTrait(_:)`` if the key has no type, or cannot be one.
    public func list(
        states: [JobState] = [], name: String? = nil, error: String? = nil, batch: Int64? = nil,
        key: (any Encodable & Sendable)? = nil, since: Date? = nil,
        order: JobPage.Order = .oldestFirst, after id: JobID? = nil, limit: Int = 100
    ) async throws -> JobPage {
        var selection = JobSelection()
        (selection.states, selection.name) = (Set(states), name)
        (selection.error, selection.batch) = (error, batch)
        (selection.after, selection.limit) = (id, max(0, limit))
        selection.since = try since?.millisecondsForStore("list(since:)")
        selection.isNewestFirst = order == .newestFirst
        if let key {
            guard let name else {
                throw JobError.invalidTrait("list(key:): write the name of the type, too")
            }
            selection.uniqueKey = "\(name) \(try JobKey.digest(key, for: "list(key:)"))"
        }
        return JobPage(try await store.jobs(in: self.name, selection))
    }

    /// Returns the queues of the store that have jobs, workers or schedules, in the order of their
    /// names.
    ///
    /// - Complexity: O(number of unfinished and of discarded jobs), up to 10,000 for each queue
    ///   and state.
    public func queues() async throws -> [JobQueueInfo] {
        try await store.queues().map(JobQueueInfo.init)
    }

    /// Returns the workers of the queue, in all processes, in the order of their starts: those that
    /// live, and those that are missing and still hold jobs.
    ///
    /// - Complexity: O(number of workers that have started in the last day, and of running jobs).
    public func workers() async throws -> [JobWorkerInfo] {
        try await store.workers(of: name).map(JobWorkerInfo.init)
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
