#if ServiceLifecycle
import OperationsRuntime

/// The shutdown of all queue services of the process, whose grace periods count from one moment.
final class ProcessShutdown: Sendable {
    static let shared = ProcessShutdown {
        ContinuousClock.now
    } forgetting: {
        SignalCount.shared.forget()
    }

    /// Shutdowns that are further apart do not belong together.
    static let longestPause: Duration = .seconds(60)

    private struct State {
        /// When the first service began to shut down.
        var start: ContinuousClock.Instant?
        /// When the last service that shut down has ended.
        var lastEnd: ContinuousClock.Instant?
        /// The number of services that shut down now.
        var active = 0
    }

    private let now: @Sendable () -> ContinuousClock.Instant
    private let forget: @Sendable () -> Void
    private let state = Locked(State())

    /// - Parameter forget: called when a shutdown begins that does not belong to an earlier one.
    init(
        now: @escaping @Sendable () -> ContinuousClock.Instant,
        forgetting forget: @escaping @Sendable () -> Void
    ) {
        (self.now, self.forget) = (now, forget)
    }

    /// A service begins to shut down. Returns what is left of its grace period.
    func begin(grace: Duration) -> Duration {
        let now = now()
        let (start, isAnother) = state.withLock { state in
            let isOver =
                state.active == 0
                && state.lastEnd.map { $0.duration(to: now) > Self.longestPause } ?? true
            let isAnother = isOver && state.start != nil
            if isOver { state.start = now }
            state.active += 1
            return (state.start ?? now, isAnother)
        }
        if isAnother { forget() }
        return max(.zero, grace - start.duration(to: now))
    }

    /// A service has shut down.
    func end() {
        let now = now()
        state.withLock { state in
            state.active -= 1
            state.lastEnd = now
        }
    }
}
#endif
