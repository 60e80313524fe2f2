import OperationsTestSupport
import Testing

@testable import Operations

/// The state machine of attempts and holds, without an operation. Numbers stand for timers.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct AttemptStateTests {
    typealias Attempts = AttemptState<Int>

    private let delay = Hold(cause: .delay, end: .seconds(1))
    /// The numbers of the timers that ``state(_:)`` sets, and of the deadline's timer.
    private let timer = 1
    private let deadlineTimer = 2

    /// The phases without their data.
    enum Phase: CaseIterable {
        case pending, holding, running, expiring, returnedWhileExpiring, expired
        case over, overWithDecisionDue
    }

    private func name(_ attempts: Attempts) -> Phase {
        switch attempts.phase {
        case .pending: .pending
        case .holding: .holding
        case .running: .running
        case .expiring(bodyHasReturned: false): .expiring
        case .expiring(bodyHasReturned: true): .returnedWhileExpiring
        case .expired: .expired
        case .over(isDecisionDue: false): .over
        case .over(isDecisionDue: true): .overWithDecisionDue
        }
    }

    /// Leads new attempts into a phase. Returns also the last serial number.
    private func state(_ phase: Phase) -> (attempts: Attempts, serial: Int) {
        var attempts = Attempts()
        var serial = 0
        if phase == .holding {
            serial = attempts.holdBegan(delay)
        } else if phase != .pending, phase != .over {
            serial = attempts.attemptBegan()
        }
        if serial > 0 {
            let isKept = attempts.timerSet(timer, for: serial)
            #expect(isKept)
        }
        switch phase {
        case .pending, .holding, .running: break
        case .expiring: _ = attempts.timerFired(for: serial)
        case .returnedWhileExpiring, .overWithDecisionDue:
            _ = attempts.timerFired(for: serial)
            _ = attempts.bodyReturned()
        case .expired:
            _ = attempts.timerFired(for: serial)
            _ = attempts.expiryEnded()
        case .over: break
        }
        if phase == .over || phase == .overWithDecisionDue { _ = attempts.ended() }
        #expect(name(attempts) == phase)
        return (attempts, serial)
    }

    @Test(arguments: Phase.allCases)
    func returnedBodyLeavesOneDecision(phase: Phase) {
        let expected: (Attempts.Action, Phase) =
            switch phase {
            case .running: (.decide(cancelling: timer), .pending)
            case .expired: (.decide(cancelling: nil), .pending)
            case .expiring: (.none, .returnedWhileExpiring)
            case .pending, .holding, .returnedWhileExpiring, .over, .overWithDecisionDue:
                (.conclude, phase)
            }
        var (attempts, _) = state(phase)
        let action = attempts.bodyReturned()
        #expect(action == expected.0 && name(attempts) == expected.1)
    }

    @Test(arguments: Phase.allCases)
    func timerEndsItsHoldOrAttempt(phase: Phase) {
        let expected: (Attempts.Action, Phase) =
            switch phase {
            case .holding: (.releaseHold, .pending)
            case .running: (.expire, .expiring)
            case .pending, .expiring, .returnedWhileExpiring, .expired, .over,
                .overWithDecisionDue:
                (.none, phase)
            }
        var (attempts, serial) = state(phase)
        let action = attempts.timerFired(for: serial)
        #expect(action == expected.0 && name(attempts) == expected.1)
    }

    @Test(arguments: Phase.allCases)
    func timerOfAnEarlierHoldOrAttemptHasNoEffect(phase: Phase) {
        var (attempts, serial) = state(phase)
        let action = attempts.timerFired(for: serial - 1)
        #expect(action == .none && name(attempts) == phase)
    }

    @Test(arguments: Phase.allCases)
    func endedExpiryLeavesTheDecisionOfAReturnedBody(phase: Phase) {
        let expected: (Attempts.Action, Phase) =
            switch phase {
            case .expiring: (.none, .expired)
            case .returnedWhileExpiring: (.decide(cancelling: nil), .pending)
            case .overWithDecisionDue: (.decide(cancelling: nil), .over)
            case .pending, .holding, .running, .expired, .over: (.none, phase)
            }
        var (attempts, _) = state(phase)
        let action = attempts.expiryEnded()
        #expect(action == expected.0 && name(attempts) == expected.1)
    }

    @Test(arguments: Phase.allCases)
    func timerOfAnEndedHoldOrAttemptIsNotKept(phase: Phase) {
        var (attempts, serial) = state(phase)
        let isKept = attempts.timerSet(timer, for: serial)
        let isUnderWay: Bool =
            switch phase {
            case .holding, .running, .expiring, .returnedWhileExpiring, .expired: true
            case .pending, .over, .overWithDecisionDue: false
            }
        #expect(isKept == isUnderWay && name(attempts) == phase)
        guard phase == .holding || phase == .running else { return }
        let keepsEarlier = attempts.timerSet(3, for: serial - 1)
        #expect(!keepsEarlier)
        let cancelled = attempts.ended()
        #expect(cancelled == [timer])
    }

    @Test(arguments: Phase.allCases)
    func endCancelsTheTimersAndKeepsADecisionThatIsDue(phase: Phase) {
        var (attempts, _) = state(phase)
        let wasOver = attempts.isOver
        let isKept = attempts.deadlineTimerSet(deadlineTimer)
        #expect(isKept == !wasOver)
        let cancelled = attempts.ended()
        let expected: [Int] =
            switch phase {
            case .holding, .running: [timer, deadlineTimer]
            case .pending, .expiring, .returnedWhileExpiring, .expired: [deadlineTimer]
            case .over, .overWithDecisionDue: []
            }
        #expect(cancelled == expected)
        let isDecisionDue = phase == .returnedWhileExpiring || phase == .overWithDecisionDue
        #expect(name(attempts) == (isDecisionDue ? .overWithDecisionDue : .over))
    }

    @Test func nothingBeginsAfterTheEnd() {
        var (attempts, _) = state(.over)
        let attempt = attempts.attemptBegan()
        #expect(attempts.isOver && attempts.hasBegun && attempts.attempt == 1)
        let hold = attempts.holdBegan(delay)
        #expect(attempts.isOver && attempts.hold == nil)
        let actions = [attempts.timerFired(for: attempt), attempts.timerFired(for: hold)]
        #expect(actions == [.none, .none])
    }

    @Test func attemptsAreCountedSinceTheLastSuccess() {
        var attempts = Attempts()
        let error = NoConnection()
        for attempt in 1...3 {
            #expect(attempts.attempt == attempt - 1)
            let serial = attempts.attemptBegan()
            let action = attempts.bodyReturned()
            #expect(action == .decide(cancelling: nil))
            let retry = Hold(cause: .retry(attempt: attempt + 1, error: error), end: .zero)
            let hold = attempts.holdBegan(retry)
            #expect(hold > serial && attempts.hold != nil)
            let released = attempts.timerFired(for: hold)
            #expect(released == .releaseHold && attempts.hold == nil)
        }
        _ = attempts.attemptBegan()
        _ = attempts.bodyReturned()
        _ = attempts.holdBegan(Hold(cause: .period, end: .zero))
        #expect(attempts.attempt == 0 && attempts.hasBegun)
    }

    @Test func timeoutOfTheFirstAttemptDoesNotReachTheSecond() {
        var (attempts, first) = state(.returnedWhileExpiring)
        let decision = attempts.expiryEnded()
        #expect(decision == .decide(cancelling: nil))
        let hold = attempts.holdBegan(delay)
        _ = attempts.timerFired(for: hold)
        let second = attempts.attemptBegan()
        for late in [first, hold] {
            let action = attempts.timerFired(for: late)
            #expect(action == .none && name(attempts) == .running)
        }
        let action = attempts.timerFired(for: second)
        #expect(action == .expire)
    }

    @Test func passedDeadlineIsRecordedInEachPhase() {
        for phase in Phase.allCases {
            var (attempts, _) = state(phase)
            let before = attempts.hasPassedDeadline
            attempts.deadlinePassed()
            #expect(!before && attempts.hasPassedDeadline && name(attempts) == phase)
        }
    }
}
