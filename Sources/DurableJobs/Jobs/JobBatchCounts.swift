#if DurableJobs
/// The numbers of a batch's jobs.
public struct JobBatchCounts: Sendable, Hashable {
    /// The jobs that were enqueued so far, without those that joined an unfinished job.
    public let total: Int
    /// The jobs that have a result.
    public let completed: Int
    /// The jobs that were cancelled.
    public let cancelled: Int
    /// The jobs that failed for good.
    public let discarded: Int
    /// Whether all jobs of the batch were enqueued.
    public let isComplete: Bool
    /// Whether the program that enqueues the jobs has given no sign for a minute, and has not
    /// enqueued all: it has probably died. ``JobQueue/batch(_:)`` says how to go on.
    public let isAbandoned: Bool

    /// The jobs that have not ended.
    public var unfinished: Int { total - completed - cancelled - discarded }
    /// Whether all jobs were enqueued and have ended.
    public var isEnded: Bool { isComplete && unfinished <= 0 }
}
#endif
