import OperationsRuntime

extension OperationTraitOrName where Self == OperationTrait {
    /// Keeps the operation from becoming ready until a time has passed since it was added to a
    /// queue.
    ///
    /// Meanwhile the operation takes no slot of the queue. If it is cancelled, it leaves at once.
    /// Zero or less is no delay. This and all other times of traits are limited to a century.
    public static func delay(_ duration: Duration) -> OperationTrait {
        let delay = duration.limitedToLongestTime
        return OperationTrait { $0.delay = delay }
    }

    /// Limits the time that each attempt of the work may take, counted from the start of the
    /// attempt.
    ///
    /// When the time is over, the operation fails with ``OperationTimeout``, and its body is asked
    /// to stop: ``Operation/isCancelled-property`` is true, a task is cancelled, and handlers of
    /// ``Operation/onCancel(_:)`` and an override of ``Operation/cancel()`` are called. The
    /// operation finishes when the body has returned, as failed and not as cancelled, whatever the
    /// body returned. ``retry(_:backoff:if:)`` may try again then.
    ///
    /// With zero or less the time is over as soon as the attempt has begun: the body is called all
    /// the same, and succeeds if it returns before the timeout can reach it. For work that should
    /// be left out when it is too late, use ``deadline(in:)``.
    public static func timeout(_ duration: Duration) -> OperationTrait {
        let timeout = duration.limitedToLongestTime
        return OperationTrait { $0.timeout = timeout }
    }

    /// Sets the time by which the work must have ended, counted from when the operation is added to
    /// a queue.
    ///
    /// Among the ready operations of one priority the one with the earliest deadline starts first.
    /// When the deadline has passed, the operation fails with ``OperationDeadlineExceeded``. An
    /// operation that has not started leaves without running its body; the body of a running
    /// operation is asked to stop, as by a ``timeout(_:)``. There is no further attempt. A deadline
    /// of zero or less has passed when the operation is added.
    public static func deadline(in duration: Duration) -> OperationTrait {
        let duration = duration.limitedToLongestTime
        return OperationTrait { $0.deadline = { duration } }
    }

    /// Sets the time by which the work must have ended, as a moment of a clock.
    ///
    /// As ``deadline(in:)``. The clock is read once, when the operation is added. From then on the
    /// time is measured by the queue's clock, which goes on while the machine sleeps.
    public static func deadline<C: Clock>(
        _ instant: C.Instant, on clock: C
    ) -> OperationTrait where C.Duration == Duration {
        OperationTrait {
            $0.deadline = { clock.now.duration(to: instant).limitedToLongestTime }
        }
    }

    /// Runs the work again if it fails, up to a given number of times.
    ///
    /// All attempts belong to the same operation, which keeps its place in its queue and finishes
    /// only after the last attempt; the error of that attempt is the operation's own. Between
    /// attempts the operation takes no slot, no thread and no permits of budgets. If it is
    /// cancelled then, it leaves at once. The body must be one that can run again.
    /// ``Operation/attempt`` tells the body which attempt it is.
    ///
    /// - Parameters:
    ///   - limit: how many further attempts there are at most; not negative, `.max` for no limit.
    ///   - backoff: how long to wait before each of them.
    ///   - isWorthwhile: whether to try again after the given error; always unless given.
    public static func retry(
        _ limit: Int, backoff: RetryBackoff = .exponential(),
        if isWorthwhile: @escaping @Sendable (any Error) -> Bool = { _ in true }
    ) -> OperationTrait {
        if limit < 0 { misuse("an operation cannot be retried \(limit) times: use 0 or more") }
        return retry(limit, backoff: backoff) { isWorthwhile($0) ? .retry() : .stop }
    }

    /// Runs the work again if it fails, up to a given number of times; each error decides whether
    /// and when.
    ///
    /// As ``retry(_:backoff:if:)``, for errors that say how long to wait, such as the response of a
    /// server with the header `Retry-After`:
    ///
    /// ```swift
    /// let retries = OperationTrait.retry(3) { error in
    ///     guard let busy = error as? ServerIsBusy else { return .stop }
    ///     return .retry(after: busy.retryAfter)
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - limit: how many further attempts there are at most; not negative, `.max` for no limit.
    ///   - backoff: how long to wait before each of them, unless `decide` returns a longer time.
    ///   - decide: returns whether to try again after the given error, and the shortest wait. It is
    ///     called on a worker thread, once after each failed attempt but the last.
    public static func retry(
        _ limit: Int, backoff: RetryBackoff = .exponential(),
        deciding decide: @escaping @Sendable (any Error) -> RetryDecision
    ) -> OperationTrait {
        if limit < 0 { misuse("an operation cannot be retried \(limit) times: use 0 or more") }
        let retry = OperationOptions.Retry(limit: limit, backoff: backoff, decide: decide)
        return OperationTrait { $0.retry = retry }
    }

    /// Runs the work again and again, until it fails or is cancelled.
    ///
    /// The first run is due at once, or after the ``delay(_:)``. The others follow at a fixed rate:
    /// they are due at whole periods after the first, however long a run takes, so that they do not
    /// drift. Runs do not overlap: a due time that comes while a run is going on, or waits for a
    /// slot, is left out. Between runs the operation takes no slot, but it stays in its queue:
    /// waits for the queue last until the operation is cancelled.
    ///
    /// - Parameter period: longer than zero. If a run takes longer than the period, the runs follow
    ///   each other without a pause.
    public static func every(_ period: Duration) -> OperationTrait {
        if period <= .zero {
            misuse("an operation cannot run every \(period): use a longer period")
        }
        let period = period.limitedToLongestTime
        return OperationTrait { $0.period = period }
    }
}
