import OperationsRuntime

/// The companion of an operation that has options. It holds what all traits need that are more than
/// a property: the attempts, holds and timers of the operation, its permits and its keys. The
/// protocol is in Attempts.md.
///
/// Its lock is the last in the lock order: no other function is called with the lock held.
final class AttemptController: Sendable {
    typealias Attempts = AttemptState<any ScheduledAction>

    /// What the operation uses of its queue. Times are on the time axis of the queue.
    struct Arrival: Sendable {
        var time = TimeSource.continuous
        var random = RandomSource.system
        var keys: QueueKeys?
        var permitRequest: PermitRequest?
        var deadline: Duration?
        /// When the first run of a periodic operation was due.
        var firstTick = Duration.zero
    }

    private struct State: Sendable {
        var arrival = Arrival()
        var attempts = Attempts()
    }

    let plan: OperationOptions
    private let state = Locked(State())

    init(_ plan: OperationOptions) { self.plan = plan }

    var time: TimeSource { state.withLock { $0.arrival.time } }
    var permitRequest: PermitRequest? { state.withLock { $0.arrival.permitRequest } }
    var deadline: Duration? { state.withLock { $0.arrival.deadline } }
    var attempt: Int { state.withLock { $0.attempts.attempt } }
    var hasBegun: Bool { state.withLock { $0.attempts.hasBegun } }
    var hasPassedDeadline: Bool { state.withLock { $0.attempts.hasPassedDeadline } }

    struct RemainingHold {
        let cause: Hold.Cause
        let time: Duration
        /// The most attempts that the operation may make; `Int.max` for any number.
        let attemptLimit: Int
    }

    /// Why the operation is on hold, and for how long from now.
    var remainingHold: RemainingHold? {
        let (hold, time) = state.withLock { ($0.attempts.hold, $0.arrival.time) }
        let retries = plan.retry?.limit ?? 0
        return hold.map {
            RemainingHold(
                cause: $0.cause, time: max(.zero, $0.end - time.now()),
                attemptLimit: retries == .max ? retries : retries + 1)
        }
    }

    /// Records that the operation has its place in a queue; returns false if it has finished
    /// already.
    func arrive(_ arrival: Arrival) -> Bool {
        state.withLock { state in
            if !state.attempts.isOver { state.arrival = arrival }
            return !state.attempts.isOver
        }
    }

    /// Performs one event of the attempts under the lock. References that the event removes are
    /// released without the lock.
    func event<Result: Sendable>(_ body: (inout Attempts) -> Result) -> Result {
        let (result, previous) = state.withLock { state in
            let previous = state.attempts
            return (body(&state.attempts), previous)
        }
        return withExtendedLifetime(previous) { result }
    }

    /// Keeps the timer of a hold or an attempt, or cancels it if that has ended.
    func keep(_ timer: any ScheduledAction, for serial: Int) {
        if !event({ $0.timerSet(timer, for: serial) }) { timer.cancel() }
    }

    /// Keeps the timer of the deadline, or cancels it if the operation has finished.
    func keep(deadlineTimer timer: any ScheduledAction) {
        if !event({ $0.deadlineTimerSet(timer) }) { timer.cancel() }
    }

    /// Returns the hold before the next attempt; nil if there is no next attempt.
    func nextHold(after error: (any Error)?) -> Hold? {
        let (attempt, hasPassedDeadline, arrival) = state.withLock { state in
            (state.attempts.attempt, state.attempts.hasPassedDeadline, state.arrival)
        }
        return hasPassedDeadline ? nil : plan.hold(after: error, inAttempt: attempt, arrival)
    }

    /// Cancels the timers, returns the permits and frees the keys of an operation that has finished
    /// and is about to leave its queue.
    func ended(_ operation: Operation) {
        for timer in event({ $0.ended() }) { timer.cancel() }
        let arrival = state.withLock { $0.arrival }
        arrival.permitRequest?.end()
        if let keys = arrival.keys { operation.leave(keys, plan) }
    }

    /// Grants to other operations what this one has released.
    func left() { permitRequest?.grantOthers() }
}
