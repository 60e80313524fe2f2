import OperationsTestSupport
import Testing

@testable import Operations

/// Transitions of `LifecycleState` for holds, permits and attempts, without a queue.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct HoldAndAttemptTransitionTests {
    typealias Event = (inout LifecycleState) -> LifecycleState.Actions?

    private func after(_ state: LifecycleState?, _ events: Event...) -> LifecycleState? {
        guard var state else { return nil }
        for event in events where event(&state) == nil { return nil }
        return state
    }

    private var newlyEnqueued: LifecycleState? { after(LifecycleState(), { $0.enqueued() }) }
    private var claimed: LifecycleState? {
        after(newlyEnqueued, { $0.becameReady(wasReady: true) }, { $0.claimed(takesSlot: true) })
    }
    private var executing: LifecycleState? {
        after(claimed, { $0.startingFromQueue() }, { $0.startRequested() })
    }

    @Test func operationOnHoldIsNotReadyUntilReleased() throws {
        let held = try #require(after(newlyEnqueued, { $0.putOnHold() }))
        #expect(!held.isReady && held.unfinishedDependencies == 0)
        let waiting = try #require(after(held, { $0.stillNotReady() }))
        #expect(waiting.phase == .waiting)
        #expect(after(waiting, { $0.mayBeReady() })?.phase == .waiting)
        #expect(after(waiting, { $0.released() })?.phase == .checkingReadiness)
        // The hold is released while readiness is checked, so readiness is checked again.
        let early = try #require(after(held, { $0.released() }, { $0.stillNotReady() }))
        #expect(early.phase == .checkingReadiness && early.isReady)
        #expect(after(waiting, { $0.released() }, { $0.released() }) == nil)
    }

    @Test func operationOnHoldAlsoWaitsForItsDependencies() throws {
        let held = try #require(
            after(
                newlyEnqueued, { $0.putOnHold() }, { $0.dependencyAdded() }, { $0.stillNotReady() })
        )
        // An override may have become ready meanwhile, and is asked; usually it is not.
        #expect(after(held, { $0.released() })?.phase == .checkingReadiness)
        let waiting = try #require(after(held, { $0.released() }, { $0.stillNotReady() }))
        #expect(waiting.phase == .waiting)
        #expect(after(held, { $0.dependencyFinished() })?.phase == .waiting)
        #expect(after(waiting, { $0.dependencyFinished() })?.phase == .checkingReadiness)
        #expect(after(held, { $0.permitsGranted() }) == nil)
    }

    @Test func cancelledOperationIsReadyDespiteItsHold() throws {
        let held = try #require(after(newlyEnqueued, { $0.putOnHold() }, { $0.stillNotReady() }))
        let cancelled = try #require(after(held, { $0.cancelRequested() }))
        #expect(cancelled.phase == .checkingReadiness && cancelled.isReady)
        #expect(after(cancelled, { $0.permitsGranted() }) == nil)
    }

    @Test func operationWithGrantedPermitsHoldsASlot() throws {
        let queued = try #require(after(newlyEnqueued, { $0.becameReady(wasReady: true) }))
        let refused = try #require(after(queued, { $0.permitsRefused() }))
        #expect(refused.phase == .waiting && !refused.isReady)
        let granted = try #require(after(refused, { $0.permitsGranted() }))
        #expect(granted.phase == .queued && granted.isReady && granted.has(.holdsSlot))
        #expect(after(granted, { $0.permitsGranted() }) == nil)
        // An operation that is about to leave does not wait for permits.
        #expect(after(queued, { $0.cancelRequested() }, { $0.permitsRefused() }) == nil)
        #expect(after(queued, { $0.cancellationAnnounced() }, { $0.permitsRefused() }) == nil)
    }

    @Test func endedAttemptLeavesNoTraceInTheState() throws {
        let running = try #require(executing)
        let failed = try #require(after(running, { $0.failed() }, { $0.expired() }))
        #expect(failed.isCancelled && failed.outcome == .failed)
        let waiting = try #require(after(failed, { $0.attemptEnded() }))
        #expect(waiting.phase == .waiting && !waiting.isReady && !waiting.isCancelled)
        #expect(!waiting.has([.failed, .expired, .holdsSlot, .claimedAlone]))
        let again = try #require(
            after(waiting, { $0.released() }, { $0.becameReady(wasReady: true) }))
        #expect(again == after(newlyEnqueued, { $0.becameReady(wasReady: true) }))
    }

    @Test func cancelledAttemptIsTheLast() throws {
        let running = try #require(executing)
        #expect(after(running, { $0.cancelRequested() }, { $0.attemptEnded() }) == nil)
        #expect(after(running, { $0.cancellationAnnounced() }, { $0.attemptEnded() }) == nil)
        let expired = try #require(after(running, { $0.failed() }, { $0.expired() }))
        // A later cancellation is distinguished from the expiry.
        let cancelled = try #require(after(expired, { $0.cancelRequested() }))
        #expect(after(cancelled, { $0.attemptEnded() }) == nil)
        #expect(after(cancelled, { $0.finished() })?.outcome == .failed)
        // An operation that has not failed cannot expire.
        #expect(after(running, { $0.expired() }) == nil)
    }
}
