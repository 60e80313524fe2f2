/// The state of an operation that has options: its attempts, its holds, its timers and its permits.
/// The protocol is in Attempts.md.
///
/// Its lock is the last in the lock order: no other function is called with the lock held.
final class AttemptController: Sendable {
    /// Why the operation is on hold, unless it lacks permits.
    enum Hold: Sendable {
        case delay(until: Duration)
        case retry(until: Duration, attempt: Int, error: any Error)
        case period(until: Duration)

        var end: Duration {
            switch self {
            case .delay(let end), .retry(let end, _, _), .period(let end): end
            }
        }
    }

    /// The state of a timeout that a timer's thread carries out.
    private enum Expiry {
        case none
        case underWay
        /// The body has returned meanwhile: the timer's thread decides what follows.
        case inherited
        case over
    }

    typealias Timer = any ScheduledAction

    private struct State: Sendable {
        var time = TimeSource.continuous
        var random = RandomSource.system
        var keys: QueueKeys?
        var permitRequest: PermitRequest?
        var deadline: Duration?
        var hasPassedDeadline = false
        /// When the first run of a periodic operation was due.
        var firstTick = Duration.zero
        /// The number of attempts since the last success.
        var attempt = 0
        /// The number of all attempts.
        var serial = 0
        var isBodyRunning = false
        var expiry = Expiry.none
        var hold: Hold?
        var holdNumber = 0
        var holdTimer: Timer?
        var timeoutTimer: Timer?
        var deadlineTimer: Timer?
        var hasEnded = false
    }

    let plan: OperationOptions
    private let state = Locked(State())

    init(_ plan: OperationOptions) { self.plan = plan }

    // MARK: Inspection

    var time: TimeSource { state.withLock { $0.time } }
    var permitRequest: PermitRequest? { state.withLock { $0.permitRequest } }
    var attempt: Int { state.withLock { $0.attempt } }
    var hasBegun: Bool { state.withLock { $0.serial > 0 } }
    var hasPassedDeadline: Bool { state.withLock { $0.hasPassedDeadline } }
    /// The deadline on the time axis of the queue.
    var deadline: Duration? { state.withLock { $0.deadline } }

    /// Why the operation is on hold, and for how long from now.
    var remainingHold: (hold: Hold, time: Duration)? {
        let (hold, time) = state.withLock { ($0.hold, $0.time) }
        return hold.map { ($0, max(.zero, $0.end - time.now())) }
    }

    // MARK: Arriving and ending

    /// Records that the operation has its slot in a queue; returns false if it has finished
    /// already.
    func arrive(
        at now: Duration, by time: TimeSource, random: RandomSource, keys: QueueKeys?,
        permitRequest: PermitRequest?
    ) -> Bool {
        state.withLock { state in
            guard !state.hasEnded else { return false }
            state.time = time
            state.random = random
            state.keys = keys
            state.permitRequest = permitRequest
            state.firstTick = now + (plan.delay ?? .zero)
            return true
        }
    }

    func setDeadline(_ deadline: Duration) { state.withLock { $0.deadline = deadline } }

    /// Cancels the timers, returns the permits and frees the keys of an operation that has finished
    /// and is about to leave its queue.
    ///
    /// - Returns: the ended permit request; other requests are to be served when the operation has
    ///   left.
    func end(_ operation: Operation) -> PermitRequest? {
        let (timers, permitRequest, keys, hold) = state.withLock { state in
            state.hasEnded = true
            state.isBodyRunning = false
            state.holdNumber += 1
            defer {
                state.holdTimer = nil
                state.timeoutTimer = nil
                state.deadlineTimer = nil
                state.hold = nil
            }
            return (
                [state.holdTimer, state.timeoutTimer, state.deadlineTimer], state.permitRequest,
                state.keys, state.hold
            )
        }
        for timer in timers { timer?.cancel() }
        permitRequest?.end()
        if let keys { operation.leave(keys, plan) }
        withExtendedLifetime(hold) {}
        return permitRequest
    }

    // MARK: Holding back

    /// Records why the operation is about to be put on hold; returns the number of that hold.
    func beginHold(_ hold: Hold) -> Int {
        let (number, previous) = state.withLock { state in
            let previous = state.hold
            state.hold = hold
            state.holdNumber += 1
            return (state.holdNumber, previous)
        }
        withExtendedLifetime(previous) {}
        return number
    }

    /// Ends the hold with this number; returns whether this call ended it.
    func endHold(_ number: Int) -> Bool {
        let (ends, previous) = state.withLock { state -> (Bool, Hold?) in
            guard state.holdNumber == number, let hold = state.hold else { return (false, nil) }
            state.hold = nil
            state.holdTimer = nil
            return (true, hold)
        }
        withExtendedLifetime(previous) {}
        return ends
    }

    func keep(_ timer: Timer, ofHold number: Int) {
        let isKept = state.withLock { state in
            guard state.holdNumber == number, state.hold != nil else { return false }
            state.holdTimer = timer
            return true
        }
        if !isKept { timer.cancel() }
    }

    func keep(deadlineTimer timer: Timer) {
        let isKept = state.withLock { state in
            if !state.hasEnded { state.deadlineTimer = timer }
            return !state.hasEnded
        }
        if !isKept { timer.cancel() }
    }

    // MARK: Attempts

    /// Records that an attempt is about to begin; returns its number among all attempts.
    func beginAttempt() -> Int {
        state.withLock { state in
            state.attempt += 1
            state.serial += 1
            state.isBodyRunning = !state.hasEnded
            state.expiry = .none
            return state.serial
        }
    }

    func keep(_ timer: Timer, ofAttempt serial: Int) {
        let isKept = state.withLock { state in
            guard state.serial == serial, state.isBodyRunning else { return false }
            state.timeoutTimer = timer
            return true
        }
        if !isKept { timer.cancel() }
    }

    enum BodyEnd {
        /// No queue began the body.
        case unplanned
        /// The caller decides what follows.
        case own
        /// The thread of a timer decides what follows.
        case inherited
    }

    func bodyReturned() -> BodyEnd {
        let (end, timer) = state.withLock { state -> (BodyEnd, Timer?) in
            guard state.isBodyRunning else { return (.unplanned, nil) }
            state.isBodyRunning = false
            defer { state.timeoutTimer = nil }
            guard case .underWay = state.expiry else { return (.own, state.timeoutTimer) }
            state.expiry = .inherited
            return (.inherited, nil)
        }
        timer?.cancel()
        return end
    }

    /// Begins the expiry of an attempt whose time is over; returns false if the body has returned
    /// already.
    func beginExpiry(ofAttempt serial: Int) -> Bool {
        state.withLock { state in
            guard state.serial == serial, state.isBodyRunning, case .none = state.expiry else {
                return false
            }
            state.expiry = .underWay
            return true
        }
    }

    /// Ends the expiry; returns true if the body has returned meanwhile and the caller decides what
    /// follows.
    func endExpiry() -> Bool {
        state.withLock { state in
            guard case .inherited = state.expiry else {
                state.expiry = .over
                return false
            }
            state.expiry = .none
            return true
        }
    }

    func recordPassedDeadline() { state.withLock { $0.hasPassedDeadline = true } }

    /// Returns the hold before the next attempt; nil if there is no next attempt.
    func hold(after error: (any Error)?) -> Hold? {
        let (time, random, attempt, firstTick, isOver) = state.withLock { state in
            (state.time, state.random, state.attempt, state.firstTick, state.hasPassedDeadline)
        }
        if isOver { return nil }
        guard let error else {
            guard let period = plan.period else { return nil }
            state.withLock { $0.attempt = 0 }
            return .period(until: Self.tick(after: time.now(), from: firstTick, every: period))
        }
        guard let retry = plan.retry, attempt <= retry.limit, retry.isWorthwhile(error) else {
            return nil
        }
        let wait = retry.backoff.wait(beforeRetry: attempt, using: random)
        return .retry(until: time.now() + wait, attempt: attempt + 1, error: error)
    }

    /// Returns the first moment after `now` that is a whole number of periods after `first`.
    static func tick(after now: Duration, from first: Duration, every period: Duration) -> Duration
    {
        guard now >= first else { return first }
        let periods = (now - first).attoseconds / period.attoseconds + 1
        return Duration(attoseconds: first.attoseconds + periods * period.attoseconds)
    }
}
