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

    /// The jobs that have not ended.
    public var unfinished: Int { total - completed - cancelled - discarded }
    /// Whether all jobs were enqueued and have ended.
    public var isEnded: Bool { isComplete && unfinished <= 0 }
}
#endif
