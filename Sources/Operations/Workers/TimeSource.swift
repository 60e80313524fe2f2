/// Where a queue's time comes from: any clock that counts in seconds.
///
/// Time is counted from a fixed moment of the clock, so that moments of one source can be compared.
package struct TimeSource: Sendable {
    /// How much time has passed since that moment.
    package let now: @Sendable () -> Duration
    /// Suspends for so long, or until the task is cancelled.
    package let sleep: @Sendable (Duration) async throws -> Void

    /// Takes the time from a clock.
    package init<C: Clock>(_ clock: C) where C.Duration == Duration {
        let start = clock.now
        now = { start.duration(to: clock.now) }
        sleep = { try await clock.sleep(for: $0) }
    }

    /// The time that goes on while the machine sleeps.
    package static let continuous = TimeSource(ContinuousClock())

    /// Calls `action` after so long, on a worker; at once if there is no time to pass.
    ///
    /// - Returns: a task; cancelling it keeps `action` from being called, unless that has begun.
    package func schedule(
        after duration: Duration, _ action: @escaping @Sendable () -> Void
    ) -> Task<Void, Never> {
        Task(executorPreference: PoolExecutor.shared) {
            if duration > .zero {
                guard (try? await sleep(duration)) != nil else { return }
            }
            if !Task.isCancelled { action() }
        }
    }
}
