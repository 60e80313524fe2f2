#if DurableJobs
import Operations

extension AttemptVerdict {
    /// The verdict on arguments that the type of job cannot decode. Another worker may: one of the
    /// program before or after a deploy.
    static func undecodable(_ error: any Error, of job: ClaimedJob) -> AttemptVerdict {
        failure(
            reason: "the worker on \(Machine.host) (process \(Machine.process)) cannot decode its "
                + "arguments: \(JobCoding.describe(error))", isPermanent: false, of: job)
    }

    /// The verdict on an attempt that threw an error.
    static func failure(_ error: any Error, of job: ClaimedJob) -> AttemptVerdict {
        let reason = JobCoding.describe(error)
        if let snooze = error as? Snooze {
            if let refusal = snooze.refusal {
                return failure(reason: refusal, isPermanent: false, of: job)
            }
            return .snoozed(reason: reason, for: snooze.delay)
        }
        let effect = (error as? JobError)?.effect
        if effect == .postponement { return .postponed(reason: reason, for: pause(after: job)) }
        let isPermanent =
            error is PermanentFailure || effect == .permanent || error is OperationDeadlineExceeded
        return failure(reason: reason, isPermanent: isPermanent, of: job)
    }

    static func failure(
        reason: String, isPermanent: Bool, of job: ClaimedJob
    ) -> AttemptVerdict {
        guard !isPermanent, job.failures < job.retryLimit else {
            return .discarded(error: reason)
        }
        let wait = BackoffText.wait(job.backoff, beforeRetry: job.failures + 1)
        return .retry(error: reason, after: wait)
    }

    /// The wait after an attempt to which a store gave no answer: the job's back-off, within
    /// limits. An outage keeps no job for long after its end, and a job without a back-off does not
    /// ask all the time.
    private static func pause(after job: ClaimedJob) -> Duration {
        let wait = BackoffText.wait(job.backoff, beforeRetry: job.attempt)
        return min(max(wait, .seconds(1)), .seconds(60))
    }

    /// Why the job has not been completed, as the store knows now.
    var reason: String? {
        if case .completedByProgram(let otherwise) = self { otherwise.error } else { error }
    }

    /// Why the job has not been completed; nil if there is no reason to record.
    var error: String? {
        switch self {
        case .completed, .completedByProgram, .handedBack, .notBegun: nil
        case .retry(let error, _), .discarded(let error): error
        case .cancelled(let reason), .postponed(let reason, _), .snoozed(let reason, _): reason
        }
    }
}
#endif
