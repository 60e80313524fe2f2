/// Where a queue's time comes from: any clock that counts in seconds.
///
/// Time is counted from a fixed moment of the clock, so that moments of one source can be compared.
package struct TimeSource: Sendable {
    /// How much time has passed since that moment.
    package let now: @Sendable () -> Duration
    /// Suspends for so long, or until the task is cancelled.
    package let sleep: @Sendable (Duration) async throws -> Void
    /// What calls actions, if it is not a task that sleeps.
    private let scheduler: Scheduler?

    /// Calls an action after so long; the text is a name for people. What is returned keeps the action from
    /// being called, if it is cancelled before.
    package typealias Scheduler =
        @Sendable (Duration, String?, @escaping @Sendable () -> Void) -> Task<Void, Never>

    /// A century: no process lives longer. The clocks of the system cannot sleep for all that a `Duration` can
    /// say, such as `.seconds(Int64.max)`, which means "for ever".
    private static let longestSleep = Duration.seconds(36_525 * 86_400)

    /// Takes the time from a clock.
    package init<C: Clock>(_ clock: C) where C.Duration == Duration {
        let start = clock.now
        now = { start.duration(to: clock.now) }
        sleep = { try await clock.sleep(for: min($0, Self.longestSleep)) }
        scheduler = nil
    }

    /// A source that decides itself how actions are called.
    package init(
        now: @escaping @Sendable () -> Duration,
        sleep: @escaping @Sendable (Duration) async throws -> Void,
        scheduler: @escaping Scheduler
    ) {
        (self.now, self.sleep, self.scheduler) = (now, sleep, scheduler)
    }

    /// The time that goes on while the machine sleeps.
    package static let continuous = TimeSource(ContinuousClock())

    /// Calls `action` after so long, on a worker; at once if there is no time to pass. It does not wait for
    /// operations that keep all workers busy.
    ///
    /// - Parameter name: what a test that lists what happened calls it.
    /// - Returns: a task; cancelling it keeps `action` from being called, unless that has begun.
    package func schedule(
        after duration: Duration, named name: String? = nil,
        _ action: @escaping @Sendable () -> Void
    ) -> Task<Void, Never> {
        if let scheduler { return scheduler(duration, name, action) }
        return Task(executorPreference: PoolExecutor.timers) {
            if duration > .zero {
                guard (try? await sleep(duration)) != nil else { return }
            }
            if !Task.isCancelled { action() }
        }
    }
}
