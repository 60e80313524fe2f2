#if DurableJobs
#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// Follows the jobs that a queue object enqueues, and the workers that were made with the object;
/// for telemetry. A queue object has at most one observer. No method is called with a lock held.
package protocol JobQueueObserver: AnyObject, Sendable {
    /// Returns a text that is stored with a new job, and that its attempts have; nil for none.
    ///
    /// Called on the thread, and in the task, that enqueues the job.
    func traceOfNewJob() -> String?

    /// A worker is about to perform a job. Called in the task that performs the job.
    ///
    /// - Returns: the observer of this attempt; nil for none.
    func attemptBegins(_ job: ClaimedJob) -> (any JobAttemptObserver)?

    /// A worker reports an event; or a call of the queue object has ended a job.
    func workerReports(_ event: JobWorkerEvent)
}

/// Accompanies one attempt of a job.
package protocol JobAttemptObserver: Sendable {
    /// Calls the body of the attempt, in its task.
    func perform(_ body: @Sendable () async throws -> Data) async throws -> Data

    /// The operation of the attempt has ended. The store does not know that yet.
    ///
    /// - Parameters:
    ///   - verdict: what the worker will report to the store, unless it has lost its lease.
    ///   - error: the error of the operation, if it has one.
    func attemptEnded(_ verdict: AttemptVerdict, error: (any Error)?)
}
#endif
