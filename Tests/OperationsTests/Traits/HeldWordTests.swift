import TestSupport
import Testing

@testable import Operations

/// The events of being held back and of attempts, on the word alone.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct HeldWordTests {
    typealias Event = (inout OperationWord) -> Bool

    private func after(_ word: OperationWord?, _ events: Event...) -> OperationWord? {
        guard var word else { return nil }
        for event in events where !event(&word) { return nil }
        return word
    }

    private var asking: OperationWord? { after(OperationWord(), { $0.reserved() }) }
    private var claimed: OperationWord? {
        after(asking, { $0.confirmed(wasReady: true) }, { $0.claimed(takesSlot: true) })
    }
    private var executing: OperationWord? {
        after(claimed, { $0.startingFromQueue() }, { $0.startRequested(isCancelled: false) })
    }

    @Test func whoIsHeldIsNotReadyUntilLetGo() throws {
        let held = try #require(after(asking, { $0.heldBack() }))
        #expect(!held.isReady && held.unfinishedDependencies == 0)
        let waiting = try #require(after(held, { $0.denied() }))
        #expect(waiting.phase == .waiting)
        #expect(after(waiting, { $0.mayBeReady() })?.phase == .waiting)
        #expect(after(waiting, { $0.released() })?.phase == .asking)
        // Let go while it is asked: it is asked again.
        let early = try #require(after(held, { $0.released() }, { $0.denied() }))
        #expect(early.phase == .asking && early.isReady)
        #expect(after(waiting, { $0.released() }, { $0.released() }) == nil)
    }

    @Test func aHeldOneHasToWaitForItsDependenciesToo() throws {
        let held = try #require(
            after(
                asking, { $0.heldBack() }, { $0.dependencyAdded() }, { $0.denied() }))
        #expect(after(held, { $0.released() })?.phase == .waiting)
        #expect(after(held, { $0.dependencyFinished() })?.phase == .waiting)
        #expect(after(held, { $0.released() }, { $0.dependencyFinished() })?.phase == .asking)
        #expect(after(held, { $0.unitsGranted() }) == nil)
    }

    @Test func aCancelledOneIsReadyThoughHeld() throws {
        let held = try #require(after(asking, { $0.heldBack() }, { $0.denied() }))
        let cancelled = try #require(after(held, { $0.cancelRequested() }))
        #expect(cancelled.phase == .asking && cancelled.isReady)
        #expect(after(cancelled, { $0.unitsGranted() }) == nil)
    }

    @Test func whoGetsUnitsHasASlot() throws {
        let filed = try #require(after(asking, { $0.confirmed(wasReady: true) }))
        let refused = try #require(after(filed, { $0.unitsRefused() }))
        #expect(refused.phase == .waiting && !refused.isReady)
        let granted = try #require(after(refused, { $0.unitsGranted() }))
        #expect(granted.phase == .filed && granted.isReady && granted.has(.holdsSlot))
        #expect(after(granted, { $0.unitsGranted() }) == nil)
        // One that is about to leave is not kept in line.
        #expect(after(filed, { $0.cancelRequested() }, { $0.unitsRefused() }) == nil)
        #expect(after(filed, { $0.doomed() }, { $0.unitsRefused() }) == nil)
    }

    @Test func anAttemptEndsWithoutATrace() throws {
        let running = try #require(executing)
        let failed = try #require(after(running, { $0.failed() }, { $0.expired() }))
        #expect(failed.isCancelled && failed.outcome == .failed)
        let waiting = try #require(after(failed, { $0.attemptEnded() }))
        #expect(waiting.phase == .waiting && !waiting.isReady && !waiting.isCancelled)
        #expect(!waiting.has([.failed, .expired, .holdsSlot, .alone]))
        let again = try #require(
            after(waiting, { $0.released() }, { $0.confirmed(wasReady: true) }))
        #expect(again == after(asking, { $0.confirmed(wasReady: true) }))
    }

    @Test func aCancelledAttemptIsTheLast() throws {
        let running = try #require(executing)
        #expect(after(running, { $0.cancelRequested() }, { $0.attemptEnded() }) == nil)
        #expect(after(running, { $0.doomed() }, { $0.attemptEnded() }) == nil)
        let expired = try #require(after(running, { $0.failed() }, { $0.expired() }))
        // A cancellation after that is not taken for the same.
        let cancelled = try #require(after(expired, { $0.cancelRequested() }))
        #expect(after(cancelled, { $0.attemptEnded() }) == nil)
        #expect(after(cancelled, { $0.finished() })?.outcome == .failed)
        // One that has not failed does not run out of time.
        #expect(after(running, { $0.expired() }) == nil)
    }
}
