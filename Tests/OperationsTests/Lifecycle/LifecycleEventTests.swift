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
            #expect(
                step.actions.contains(.enqueue) == (leavesWaiting && isOnFastPath && !isGranted),
                "\(step)")
            #expect(
                step.actions.contains(.checkReadiness)
                    == (leavesWaiting && !isOnFastPath && !isGranted),
                "\(step)")
            if step.actions.contains(.enqueue) { #expect(after.phase == .queued, "\(step)") }
            if step.actions.contains(.checkReadiness) {
                #expect(after.phase == .checkingReadiness, "\(step)")
            }
        }
    }

    @Test(arguments: starts) func noEventLeadsOutOfTheEnd(start: State) {
        forEachStep(from: start) { step in
            guard step.before.phase == .finished else { return }
            #expect(step.after.phase == .finished && step.actions.isEmpty, "\(step)")
            #expect(step.after.outcome == step.before.outcome, "\(step)")
            #expect(step.after.isCancelled == step.before.isCancelled, "\(step)")
        }
    }

    @Test(arguments: starts) func cancellationIsFinalAndCallsHandlersOnce(start: State) {
        forEachStep(from: start) { step in
            let (before, after) = (step.before, step.after)
            if before.has(.cancelled) { #expect(after.has(.cancelled), "\(step)") }
            let isCall = step.actions.contains(.callCancelHandlers)
            let isNew =
                (step.name == "cancelRequested" || step.name == "expired")
                && start.has(.hasCancelHandlers)
            #expect(isCall == isNew, "\(step)")
            #expect(
                step.actions.contains(.moveToCancelled)
                    == (step.name == "cancelRequested" && before.phase == .queued), "\(step)")
        }
    }

    @Test(arguments: starts) func noSlotIsLostOrReturnedTwice(start: State) {
        forEachStep(from: start) { step in
            let (before, after) = (step.before, step.after)
            let returns = before.has(.holdsSlot) && !after.has(.holdsSlot)
            #expect(step.actions.contains(.returnSlot) == returns, "\(step)")
        }
    }

    @Test(arguments: starts) func nothingBeginsThatMustNot(start: State) {
        forEachStep(from: start) { step in
            guard step.before.phase != .executing, step.after.phase == .executing else { return }
            #expect(!step.before.has(.cancelled), "\(step)")
            #expect(step.before.phase != .finished && step.before.phase != .waiting, "\(step)")
        }
    }
}
