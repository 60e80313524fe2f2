import OperationsTestSupport
import Testing

@testable import Operations

/// The events of the lifecycle state, applied in every order that is possible.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct LifecycleEventTests {
    typealias State = LifecycleState
    typealias Event = @Sendable (inout State) -> State.Actions?

    /// The events. A state has at most two dependencies, so that the number of states is finite.
    private static let events: [(name: String, event: Event)] = [
        ("reserved", { $0.reserved() }),
        ("enqueued", { $0.enqueued() }),
        ("enqueued reserved", { $0.enqueued(reserved: true) }),
        ("mayBeReady", { $0.mayBeReady() }),
        ("readinessAnnounced", { $0.readinessAnnounced() }),
        ("becameReady", { $0.becameReady(wasReady: true) }),
        ("becameReady early", { $0.becameReady(wasReady: false) }),
        ("stillNotReady", { $0.stillNotReady() }),
        ("removedFromReady", { $0.removedFromReady() }),
        ("returnedToQueue", { $0.returnedToQueue() }),
        ("dependencyAdded", { $0.unfinishedDependencies < 2 ? $0.dependencyAdded() : nil }),
        ("dependencyFinished", { $0.unfinishedDependencies > 0 ? $0.dependencyFinished() : nil }),
        ("putOnHold", { $0.putOnHold() }),
        ("permitsRefused", { $0.permitsRefused() }),
        ("permitsGranted", { $0.permitsGranted() }),
        ("released", { $0.released() }),
        ("attemptEnded", { $0.attemptEnded() }),
        ("claimed", { $0.claimed(takesSlot: true) }),
        ("claimed without slot", { $0.claimed(takesSlot: false) }),
        ("begunOnFastPath", { $0.has(.fastPath) ? $0.begunOnFastPath() : nil }),
        ("startingFromQueue", { $0.has(.fastPath) ? nil : $0.startingFromQueue() }),
        ("startReturned", { $0.has(.fastPath) ? nil : $0.startReturned() }),
        ("startRequested", { $0.has(.fastPath) ? nil : $0.startRequested() }),
        (
            "priorityChanged",
            { $0.priorityChanged(toLane: Operation.QueuePriority.high.lane, inQueue: $0.isInQueue) }
        ),
        ("cancelRequested", { $0.cancelRequested() }),
        ("failed", { $0.failed() }),
        ("expired", { $0.expired() }),
        ("failedUpstream", { $0.failedUpstream() }),
        ("cancellationAnnounced", { $0.cancellationAnnounced() }),
        ("finished", { $0.finished() }),
    ]

    private struct Step: CustomStringConvertible {
        let name: String
        let before: State
        let after: State
        let actions: State.Actions

        var description: String { "\(name): \(before) → \(after), actions \(actions.rawValue)" }
    }

    /// Calls `body` with each step from each state that `start` can reach.
    private func forEachStep(from start: State, _ body: (Step) -> Void) {
        var reached: Set<UInt64> = [start.bits]
        var pending = [start]
        while let before = pending.popLast() {
            for (name, event) in Self.events {
                var after = before
                guard let actions = event(&after) else { continue }
                body(Step(name: name, before: before, after: after, actions: actions))
                if reached.insert(after.bits).inserted { pending.append(after) }
            }
        }
        #expect(reached.count > 100, "the exploration has hardly begun")
    }

    /// There are too many steps to expect something of each of them.
    private func check(_ step: Step, _ condition: Bool) {
        if !condition { Issue.record("\(step)") }
    }

    private static var starts: [State] {
        var handled = State()
        handled.insert(.hasCancelHandlers)
        return [State(), State(usesFastPath: true), handled]
    }

    @Test(arguments: starts) func oneThreadCarriesOnWithAReadyOperation(start: State) {
        forEachStep(from: start) { step in
            let (before, after) = (step.before, step.after)
            let leavesWaiting = before.phase == .waiting && after.phase != .waiting
            let isOnFastPath = after.has(.fastPath)
            // An operation that is granted its permits is claimed in the same step.
            let isGranted = step.name == "permitsGranted" || after.phase == .finished
            check(
                step,
                step.actions.contains(.enqueue) == (leavesWaiting && isOnFastPath && !isGranted))
            check(
                step,
                step.actions.contains(.checkReadiness)
                    == (leavesWaiting && !isOnFastPath && !isGranted))
            if step.actions.contains(.enqueue) { check(step, after.phase == .queued) }
            if step.actions.contains(.checkReadiness) {
                check(step, after.phase == .checkingReadiness)
            }
        }
    }

    @Test(arguments: starts) func noEventLeadsOutOfTheEnd(start: State) {
        forEachStep(from: start) { step in
            guard step.before.phase == .finished else { return }
            check(step, step.after.phase == .finished && step.actions.isEmpty)
            check(step, step.after.outcome == step.before.outcome)
            check(step, step.after.isCancelled == step.before.isCancelled)
        }
    }

    @Test(arguments: starts) func cancellationIsFinalAndCallsHandlersOnce(start: State) {
        forEachStep(from: start) { step in
            let (before, after) = (step.before, step.after)
            if before.has(.cancelled) { check(step, after.has(.cancelled)) }
            let isCall = step.actions.contains(.callCancelHandlers)
            let isNew =
                (step.name == "cancelRequested" || step.name == "expired")
                && start.has(.hasCancelHandlers)
            check(step, isCall == isNew)
            check(
                step,
                step.actions.contains(.moveToCancelled)
                    == (step.name == "cancelRequested" && before.phase == .queued))
        }
    }

    @Test(arguments: starts) func noSlotIsLostOrReturnedTwice(start: State) {
        forEachStep(from: start) { step in
            let (before, after) = (step.before, step.after)
            let returns = before.has(.holdsSlot) && !after.has(.holdsSlot)
            check(step, step.actions.contains(.returnSlot) == returns)
        }
    }

    @Test(arguments: starts) func nothingBeginsThatMustNot(start: State) {
        forEachStep(from: start) { step in
            guard step.before.phase != .executing, step.after.phase == .executing else { return }
            check(step, !step.before.has(.cancelled))
            check(step, step.before.phase != .finished && step.before.phase != .waiting)
        }
    }
}
