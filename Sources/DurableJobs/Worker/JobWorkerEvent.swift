#if DurableJobs
/// What happens in a worker, for logs and metrics.
public enum JobWorkerEvent: Sendable {
    /// One transaction has committed ends, claimed jobs, or both.
    case exchanged(committed: Int, claimed: Int, duration: Duration)
    /// The body of an attempt begins. The wait is the time since the job was enqueued, by the
    /// store's clock until the claim.
    case started(job: JobID, name: String, attempt: Int, wait: Duration)
    /// The store has recorded how an attempt ended, that the job of one was handed back before it
    /// began, or that a job ended without an attempt: because of its deadline, of another job's
    /// end, or of deaths of its workers. The worker that has written the end reports it. If that
    /// worker dies at this moment, or gets no answer, nobody does.
    case ended(job: JobID, name: String, attempt: Int, state: JobState, error: String?)
    /// The result of an attempt was dropped, because the attempt was over for the store.
    case fenced(job: JobID, name: String, attempt: Int)
    /// This worker has taken jobs from workers that died.
    case rescued(count: Int)
    /// The worker's lease was not renewed in time. Its jobs are cancelled.
    case leaseLost
    /// A heartbeat came later than it was due, by this time.
    case heartbeatLate(by: Duration)
    /// A transaction of the store failed, and will be tried again. In an outage, each worker
    /// reports several of these in a second.
    case storeFailed(String)
    /// The store failed for this time, and answers all loops of the workers again that were made
    /// with the same queue object. The worker that noticed it reports it, once.
    case storeRecovered(after: Duration)
    /// The time of a schedule has come, and this process cannot read the schedule, because it does
    /// not know the time zone, or because a newer version of the library has written it. Other
    /// workers may fire it. Reported once a minute.
    case unreadableSchedule(name: String, reason: String)
}
#endif
