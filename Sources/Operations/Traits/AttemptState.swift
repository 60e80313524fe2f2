/// The attempts and holds of one operation, as a state machine. Pure; the protocol is in
/// Attempts.md.
///
/// Each hold and each attempt has a serial number, so that its timer cannot end a later hold or
/// attempt.
struct AttemptState<Timer: Sendable>: Sendable {
    enum Phase: Sendable {
        /// The operation is neither on hold nor in an attempt. → `holding`, `running`, `over`
        case pending
        /// The operation is on hold until its timer fires. → `pending`, `over`
        case holding(Hold, serial: Int, Timer?)
        /// The body is running. → `pending`, `expiring`, `over`
        case running(serial: Int, Timer?)
        /// The thread of the timer fails and cancels the attempt. If the body returns meanwhile,
        /// that thread makes the decision that follows. → `pending`, `expired`, `over`
        case expiring(bodyHasReturned: Bool)
        /// The body is running although its time is over. → `pending`, `over`
        case expired
        /// The operation has finished. If it finished while the attempt was `expiring` and the body
        /// had returned, the thread of the timer must still make the decision.
        case over(isDecisionDue: Bool)
    }

    /// The next step of the thread that reported an event.
    enum Action: Sendable {
        case none
        /// Make the operation ready unless something else holds it back.
        case releaseHold
        /// Fail and cancel the attempt, and then report `expiryEnded()`.
        case expire
        /// Decide between another attempt and the end of the operation.
        case decide(cancelling: Timer?)
        /// End the operation without another attempt: no queue began this one, or the operation has
        /// finished.
        case conclude
    }

    private(set) var phase = Phase.pending
    /// The number of attempts since the last success.
    private(set) var attempt = 0
    /// Whether there was an attempt.
    private(set) var hasBegun = false
    private(set) var hasPassedDeadline = false
    private var deadlineTimer: Timer?
    private var lastSerial = 0

    var hold: Hold? { if case .holding(let hold, _, _) = phase { hold } else { nil } }
    var isOver: Bool { if case .over = phase { true } else { false } }

    // MARK: Events of holds and attempts

    /// Returns the serial number of the hold.
    mutating func holdBegan(_ hold: Hold) -> Int {
        if case .period = hold.cause { attempt = 0 }
        return began { .holding(hold, serial: $0, nil) }
    }

    /// Returns the serial number of the attempt.
    mutating func attemptBegan() -> Int {
        attempt += 1
        hasBegun = true
        return began { .running(serial: $0, nil) }
    }

    private mutating func began(_ next: (_ serial: Int) -> Phase) -> Int {
        lastSerial += 1
        if !isOver { phase = next(lastSerial) }
        return lastSerial
    }

    /// The body has returned or thrown.
    mutating func bodyReturned() -> Action {
        switch phase {
        case .running(_, let timer):
            phase = .pending
            return .decide(cancelling: timer)
        case .expired:
            phase = .pending
            return .decide(cancelling: nil)
        case .expiring(bodyHasReturned: false):
            phase = .expiring(bodyHasReturned: true)
            return .none
        case .pending, .holding, .expiring(bodyHasReturned: true), .over: return .conclude
        }
    }

    // MARK: Events of timers

    /// A timer was set. Returns false if the hold or the attempt has ended: the caller cancels the
    /// timer.
    mutating func timerSet(_ timer: Timer, for serial: Int) -> Bool {
        switch phase {
        case .holding(let hold, serial, _): phase = .holding(hold, serial: serial, timer)
        case .running(serial, _): phase = .running(serial: serial, timer)
        // The timer has fired.
        case .expiring, .expired: break
        case .pending, .holding, .running, .over: return false
        }
        return true
    }

    /// The time of a hold or an attempt is over.
    mutating func timerFired(for serial: Int) -> Action {
        switch phase {
        case .holding(_, serial, _):
            phase = .pending
            return .releaseHold
        case .running(serial, _):
            phase = .expiring(bodyHasReturned: false)
            return .expire
        // The timer belongs to an earlier hold or attempt.
        case .pending, .holding, .running, .expiring, .expired, .over: return .none
        }
    }

    /// The thread of the timer has failed and cancelled the attempt.
    mutating func expiryEnded() -> Action {
        switch phase {
        case .expiring(bodyHasReturned: false):
            phase = .expired
            return .none
        case .expiring(bodyHasReturned: true):
            phase = .pending
            return .decide(cancelling: nil)
        case .over(isDecisionDue: true):
            phase = .over(isDecisionDue: false)
            return .decide(cancelling: nil)
        case .pending, .holding, .running, .expired, .over(isDecisionDue: false): return .none
        }
    }

    /// The timer of the deadline was set. Returns false if the operation has finished: the caller
    /// cancels the timer.
    mutating func deadlineTimerSet(_ timer: Timer) -> Bool {
        if !isOver { deadlineTimer = timer }
        return !isOver
    }

    mutating func deadlinePassed() { hasPassedDeadline = true }

    // MARK: The end

    /// The operation has finished. Returns the timers to cancel.
    mutating func ended() -> [Timer] {
        var timers: [Timer] = []
        var isDecisionDue = false
        switch phase {
        case .holding(_, _, let timer?), .running(_, let timer?): timers = [timer]
        case .expiring(let bodyHasReturned): isDecisionDue = bodyHasReturned
        case .over(let isDue): isDecisionDue = isDue
        case .pending, .holding, .running, .expired: break
        }
        phase = .over(isDecisionDue: isDecisionDue)
        if let timer = deadlineTimer.take() { timers.append(timer) }
        return timers
    }
}

extension AttemptState.Action: Equatable where Timer: Equatable {}
