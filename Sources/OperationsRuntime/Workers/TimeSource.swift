/// The source of a queue's time: any clock that measures durations in seconds.
///
/// Time is counted from a fixed instant of the clock, so that instants of one source can be
/// compared.
package struct TimeSource: Sendable {
    /// Returns the time that has passed since that fixed instant.
    package let now: @Sendable () -> Duration
    private let scheduler: Scheduler

    /// `now` in nanoseconds, as queues use it.
    package var nanoseconds: @Sendable () -> Int64 {
        { [now] in Int64(clamping: now().wholeNanoseconds) }
    }

    /// Schedules a call of an action after a duration. The text is a display name for the action.
    /// Cancelling the returned object before the call begins prevents the call.
    package typealias Scheduler =
        @Sendable (Duration, String?, @escaping @Sendable () -> Void) -> any ScheduledAction

    /// Creates a source from any clock. Each scheduled action is a task that sleeps.
    package init<C: Clock>(_ clock: C) where C.Duration == Duration {
        let start = clock.now
        now = { start.duration(to: clock.now) }
        scheduler = { duration, _, action in
            Task(executorPreference: PoolExecutor.timers) {
                if duration > .zero {
                    // Clocks cannot sleep for every value of `Duration`, such as
                    // `.seconds(Int64.max)`, which means "for ever".
                    let sleep = duration.limitedToLongestTime
                    guard (try? await clock.sleep(for: sleep)) != nil else { return }
                }
                if !Task.isCancelled { action() }
            }
        }
    }

    /// Creates a source that decides itself how actions are called.
    package init(now: @escaping @Sendable () -> Duration, scheduler: @escaping Scheduler) {
        (self.now, self.scheduler) = (now, scheduler)
    }

    /// The time of a clock that continues while the machine sleeps. The pool keeps this time
    /// without the help of threads that a program can block.
    package static let continuous = {
        let clock = ContinuousClock()
        let start = clock.now
        return TimeSource(now: { start.duration(to: clock.now) }) { duration, _, action in
            WorkerPool.schedule(after: duration, action)
        }
    }()

    /// Schedules a call of `action` after `duration`, or as soon as possible if `duration` is not
    /// positive.
    ///
    /// The call happens on a worker, and does not wait for operations that keep all workers busy.
    /// In a test, the thread of the test scheduler makes the call. In no case does this method
    /// itself call `action`.
    ///
    /// - Parameter name: The name of the action in a test that lists events.
    /// - Returns: An object whose cancellation prevents the call of `action`, unless that call has
    ///   begun.
    package func schedule(
        after duration: Duration, named name: String? = nil,
        _ action: @escaping @Sendable () -> Void
    ) -> any ScheduledAction {
        scheduler(duration, name, action)
    }
}
