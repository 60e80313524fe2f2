import OperationsRuntime

/// Why an operation is on hold, unless it lacks permits, and until when on its queue's time axis.
struct Hold: Sendable {
    enum Cause: Sendable {
        case delay
        case period
        /// The number of the attempt that follows, and the error of the previous attempt.
        case retry(attempt: Int, error: any Error)
    }

    let cause: Cause
    let end: Duration
}

extension OperationOptions {
    /// Returns the hold before the next attempt; nil if there is no next attempt. Calls the user's
    /// closure.
    ///
    /// - Parameters:
    ///   - error: the error of the attempt that has ended; nil if the attempt succeeded.
    ///   - attempt: the number of that attempt since the last success.
    func hold(
        after error: (any Error)?, inAttempt attempt: Int, _ arrival: AttemptController.Arrival
    ) -> Hold? {
        guard let error else {
            guard let period else { return nil }
            let now = arrival.time.now()
            return Hold(
                cause: .period, end: Self.tick(after: now, from: arrival.firstTick, every: period))
        }
        guard let retry, attempt <= retry.limit,
            case .retry(let least, let limit) = retry.decide(error)
        else { return nil }
        let wait = max(
            retry.backoff.wait(beforeRetry: attempt, using: arrival.random),
            least.limitedToLongestTime)
        limit?.pause(for: wait, because: rates)
        return Hold(
            cause: .retry(attempt: attempt + 1, error: error), end: arrival.time.now() + wait)
    }

    /// Returns the first moment after `now` that is a whole number of periods after `first`.
    static func tick(after now: Duration, from first: Duration, every period: Duration) -> Duration
    {
        guard now >= first else { return first }
        let periods = (now - first).attoseconds / period.attoseconds + 1
        return Duration(attoseconds: first.attoseconds + periods * period.attoseconds)
    }
}
