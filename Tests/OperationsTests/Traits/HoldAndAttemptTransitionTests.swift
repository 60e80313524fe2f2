import TestSupport
import Testing

@testable import Operations

/// The transitions of holds and attempts, on the state alone.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct HeldWordTests {
    typealias Event = (inout LifecycleState) -> Bool

    private func after(_ word: LifecycleState?, _ events: Event...) -> LifecycleState? {
        guard var word else { return nil }
        for event in events where !event(&word) { return nil }
        return word
    }

    private var asking: LifecycleState? { after(LifecycleState(), { $0.enqueued() }) }
    private var claimed: LifecycleState? {
        after(asking, { $0.becameReady(wasReady: true) }, { $0.claimed(takesSlot: true) })
    }
    private var executing: LifecycleState? {
        after(claimed, { $0.startingFromQueue() }, { $0.startRequested(isCancelled: false) })
    }

    @Test func whoIsHeldIsNotReadyUntilLetGo() throws {
        let held = try #require(after(asking, { $0.putOnHold() }))
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

    @Test func aHeldOneHasToWaitForItsDependenciesToo() throws {
        let held = try #require(
            after(
                asking, { $0.putOnHold() }, { $0.dependencyAdded() }, { $0.stillNotReady() }))
        #expect(after(held, { $0.released() })?.phase == .waiting)
        #expect(after(held, { $0.dependencyFinished() })?.phase == .waiting)
        #expect(
            after(held, { $0.released() }, { $0.dependencyFinished() })?.phase == .checkingReadiness
        )
        #expect(after(held, { $0.permitsGranted() }) == nil)
    }

    @Test func aCancelledOneIsReadyThoughHeld() throws {
        let held = try #require(after(asking, { $0.putOnHold() }, { $0.stillNotReady() }))
        let cancelled = try #require(after(held, { $0.cancelRequested() }))
        #expect(cancelled.phase == .checkingReadiness && cancelled.isReady)
        #expect(after(cancelled, { $0.permitsGranted() }) == nil)
    }

    @Test func whoGetsUnitsHasASlot() throws {
        let filed = try #require(after(asking, { $0.becameReady(wasReady: true) }))
        let refused = try #require(after(filed, { $0.permitsRefused() }))
        #expect(refused.phase == .waiting && !refused.isReady)
        let granted = try #require(after(refused, { $0.permitsGranted() }))
        #expect(granted.phase == .queued && granted.isReady && granted.has(.holdsSlot))
        #expect(after(granted, { $0.permitsGranted() }) == nil)
        // An operation that is about to leave does not wait for permits.
        #expect(after(filed, { $0.cancelRequested() }, { $0.permitsRefused() }) == nil)
        #expect(after(filed, { $0.cancellationAnnounced() }, { $0.permitsRefused() }) == nil)
    }

    @Test func anAttemptEndsWithoutATrace() throws {
        let running = try #require(executing)
        let failed = try #require(after(running, { $0.failed() }, { $0.expired() }))
        #expect(failed.isCancelled && failed.outcome == .failed)
        let waiting = try #require(after(failed, { $0.attemptEnded() }))
        #expect(waiting.phase == .waiting && !waiting.isReady && !waiting.isCancelled)
        #expect(!waiting.has([.failed, .expired, .holdsSlot, .claimedAlone]))
        let again = try #require(
            after(waiting, { $0.released() }, { $0.becameReady(wasReady: true) }))
        #expect(again == after(asking, { $0.becameReady(wasReady: true) }))
    }

    @Test func aCancelledAttemptIsTheLast() throws {
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
