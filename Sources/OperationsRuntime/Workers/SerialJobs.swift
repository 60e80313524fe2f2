/// The jobs of a serial executor: which of them runs, which wait, and with which urgencies the
/// executor waits for a worker.
///
/// Pure; the executor guards it with a lock. At most one worker runs jobs at a time. The invariant
/// is that while a job waits, either a worker runs jobs, or the executor has been offered to the
/// pool with at least the urgency of the most urgent job. A worker that comes with an offer and
/// finds another worker there leaves; the other one offers the rest when it ends.
package struct SerialJobs<Job> {
    /// The jobs of each urgency, in the order of their arrival.
    private var waiting = Urgency.allCases.map { _ in FIFO<Job>() }
    private var offered = OfferedUrgencies()
    private var isRunning = false

    package init() {}

    /// The number of jobs that wait.
    package var count: Int { waiting.reduce(0) { $0 + $1.count } }

    /// Adds a job. Returns the urgency with which the caller has to offer the executor to the pool;
    /// nil if it need not.
    package mutating func add(_ job: Job, _ urgency: Urgency) -> Urgency? {
        waiting[urgency.rawValue].append(job)
        return offer()
    }

    /// Records that a worker has come with an offer. Returns the first job for it to run; nil if
    /// there is nothing for it to do.
    package mutating func begin(offered urgency: Urgency) -> Job? {
        offered.remove(urgency)
        guard !isRunning, let job = takeMostUrgent() else { return nil }
        isRunning = true
        return job
    }

    /// Records that the worker has run a job.
    ///
    /// - Parameter mayGoOn: whether the worker may run another one.
    /// - Returns: the next job, if the worker goes on; otherwise the urgency of the offer that the
    ///   caller has to make, if there is one.
    package mutating func proceed(mayGoOn: Bool) -> (next: Job?, offer: Urgency?) {
        if mayGoOn, let next = takeMostUrgent() { return (next, nil) }
        isRunning = false
        return (nil, offer())
    }

    private mutating func takeMostUrgent() -> Job? {
        for urgency in Urgency.fromMostUrgent {
            if let job = waiting[urgency.rawValue].popFirst() { return job }
        }
        return nil
    }

    private mutating func offer() -> Urgency? {
        guard !isRunning,
            let urgency = Urgency.fromMostUrgent.first(where: { !waiting[$0.rawValue].isEmpty }),
            offered.insert(urgency)
        else { return nil }
        return urgency
    }
}
