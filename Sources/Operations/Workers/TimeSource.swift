/// Where a queue's time comes from: any clock that counts in seconds.
///
/// Time is counted from a fixed moment of the clock, so that moments of one source can be compared.
package struct TimeSource: Sendable {
    /// How much time has passed since that moment.
    package let now: @Sendable () -> Duration
    private let scheduler: Scheduler

    /// Calls an action after so long; the text is a name for people. What is returned keeps the action from
    /// being called, if it is cancelled before.
    package typealias Scheduler =
        @Sendable (Duration, String?, @escaping @Sendable () -> Void) -> any ScheduledAction

    /// A century: no process lives longer. Clocks cannot sleep for all that a `Duration` can say, such as
    /// `.seconds(Int64.max)`, which means "for ever".
    private static let longestSleep = Duration.seconds(36_525 * 86_400)

    /// Takes the time from any clock. Each action is a task that sleeps.
    package init<C: Clock>(_ clock: C) where C.Duration == Duration {
        let start = clock.now
        now = { start.duration(to: clock.now) }
        scheduler = { duration, _, action in
            Task(executorPreference: PoolExecutor.timers) {
                if duration > .zero {
                    let sleep = min(duration, Self.longestSleep)
                    guard (try? await clock.sleep(for: sleep)) != nil else { return }
                }
                if !Task.isCancelled { action() }
            }
        }
    }

    /// A source that decides itself how actions are called.
    package init(now: @escaping @Sendable () -> Duration, scheduler: @escaping Scheduler) {
        (self.now, self.scheduler) = (now, scheduler)
    }

    /// The time that goes on while the machine sleeps. The pool keeps it, with no help of threads that others can
    /// hold up.
    package static let continuous = {
        let clock = ContinuousClock()
        let start = clock.now
        return TimeSource(now: { start.duration(to: clock.now) }) { duration, _, action in
            WorkerPool.shared.schedule(after: duration, action)
        }
    }()

    /// Calls `action` after so long, on a worker; at once if there is no time to pass. It does not wait for
    /// operations that keep all workers busy.
    ///
    /// - Parameter name: what a test that lists what happened calls it.
    /// - Returns: what keeps `action` from being called when it is cancelled, unless that has begun.
    package func schedule(
        after duration: Duration, named name: String? = nil,
        _ action: @escaping @Sendable () -> Void
    ) -> any ScheduledAction {
        scheduler(duration, name, action)
    }
}
