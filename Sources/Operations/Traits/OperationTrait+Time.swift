extension OperationTrait {
    /// Not ready before so much time has passed since the operation was added to a queue.
    ///
    /// Meanwhile it takes no slot of the queue. Cancelled, it leaves at once. Zero or less is no delay.
    /// This and all other times of traits are limited to a century.
    public static func delay(_ duration: Duration) -> OperationTrait {
        let delay = duration.limitedToLongestTime
        return OperationTrait { $0.delay = delay }
    }

    /// How long an attempt of the work may take, counted from its start.
    ///
    /// When the time is over the operation fails with ``OperationTimeout``, and its body is told to stop:
    /// ``Operation/isCancelled`` is true, a task is cancelled, handlers of ``Operation/onCancel(_:)`` and an
    /// override of ``Operation/cancel()`` are called. It finishes when the body has returned, as failed and not
    /// as cancelled, whatever the body returned. ``retry(_:backoff:if:)`` may try again then.
    ///
    /// Zero or less is over when the attempt has begun: the body is called all the same, and succeeds if it
    /// returns before it can be told. What is to be left out when it is too late has a ``deadline(in:)``.
    public static func timeout(_ duration: Duration) -> OperationTrait {
        let timeout = duration.limitedToLongestTime
        return OperationTrait { $0.timeout = timeout }
    }

    /// By when the work must have ended, counted from when the operation is added to a queue.
    ///
    /// Among the ready operations of one priority that with the earliest deadline starts first. When it has
    /// passed, the operation fails with ``OperationDeadlineExceeded``: one that has not started leaves
    /// without its work; the body of one that runs is told to stop, as by a ``timeout(_:)``. There is no further
    /// attempt. With zero or less it has passed when the operation is added.
    public static func deadline(in duration: Duration) -> OperationTrait {
        let duration = duration.limitedToLongestTime
        return OperationTrait { $0.deadline = { duration } }
    }

    /// By when the work must have ended, as a moment of a clock.
    ///
    /// As ``deadline(in:)``. The clock is read once, when the operation is added; from then on time is counted as
    /// the queue does, by the clock that goes on while the machine sleeps.
    public static func deadline<C: Clock>(
        _ instant: C.Instant, on clock: C
    ) -> OperationTrait where C.Duration == Duration {
        OperationTrait {
            $0.deadline = { clock.now.duration(to: instant).limitedToLongestTime }
        }
    }

    /// Runs the work again if it fails, up to so many times.
    ///
    /// It stays the same operation, with the same place in its queue, and has finished only after the last
    /// attempt; the error of that one is its own. Between attempts it takes no slot, no thread and no units
    /// of budgets. Cancelled then, it leaves at once. The body must be one that can run again.
    /// ``Operation/attempt`` tells it how often it has.
    ///
    /// - Parameters:
    ///   - limit: how many further attempts there are at most; not negative.
    ///   - backoff: how long to wait before each.
    ///   - isWorthwhile: whether to try again after this error; after each unless given.
    public static func retry(
        _ limit: Int, backoff: RetryBackoff = .exponential(),
        if isWorthwhile: @escaping @Sendable (any Error) -> Bool = { _ in true }
    ) -> OperationTrait {
        if limit < 0 { misuse("an operation cannot be retried \(limit) times: use 0 or more") }
        let retry = OperationOptions.Retry(
            limit: limit, backoff: backoff, isWorthwhile: isWorthwhile)
        return OperationTrait { $0.retry = retry }
    }

    /// Runs the work again and again, until it fails or is cancelled.
    ///
    /// The first run is due at once, or after the ``delay(_:)``; the others follow at a fixed rate: whole periods
    /// after that moment, however long a run takes, so that they do not drift. Runs do not overlap:
    /// a moment that comes while one is going on, or waits for a slot, is left out. In between it takes no
    /// slot, but it stays in its queue: waits for the queue last until it is cancelled.
    ///
    /// - Parameter period: longer than zero. With one that is shorter than a run takes, one run follows on
    ///   another.
    public static func every(_ period: Duration) -> OperationTrait {
        if period <= .zero {
            misuse("an operation cannot run every \(period): use a longer period")
        }
        let period = period.limitedToLongestTime
        return OperationTrait { $0.period = period }
    }
}
