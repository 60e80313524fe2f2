import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

/// A claim continues when a body of it is suspended.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct SuspensionTests {
    /// The queue measures how long suspended operations take. Without a measurement, workers claim
    /// each operation by itself.
    @Test func durationOfSuspendedOperationsIsMeasured() async {
        let queue = OperationQueue()
        await Place.outside.make {
            for _ in 0..<2_000 { queue.add { await Task.yield() } }
        }
        await queue.drain()
        let (learned, running) = queue.snapshot {
            ($0.slots.pace.typicalNanoseconds, $0.slots.taken)
        }
        #expect(learned != ClaimPace().typicalNanoseconds)
        #expect(running == 0)
    }

    /// A queue and a claim of operations, the first of which runs.
    private final class Claimed {
        private var state: QueueState
        private let queue = OperationQueue()
        let claim = Claim()
        private(set) var operations: [Operation]

        init(count: Int, width: Int) {
            state = QueueState(width: width)
            operations = (0..<count).map { _ in BlockOperation {} }
            for operation in operations { _ = state.add(operation, to: queue) }
            // Operations this short are all claimed at once.
            state.slots.pace.typicalNanoseconds = 10
            claim(claim)
            startNext()
        }

        var running: Int { state.slots.taken }
        var readyCount: Int { state.ready.count }
        var typicalNanoseconds: UInt64 { state.slots.pace.typicalNanoseconds }
        var isEmpty: Bool { state.isEmpty }

        func claim(_ claim: Claim) { _ = state.executorRequestedWork(claim, cores: 1) }

        /// Adds an operation behind the others.
        func add() {
            operations.append(BlockOperation {})
            _ = state.add(operations[operations.count - 1], to: queue)
        }

        func startNext() {
            guard let next = claim.takeNext() else {
                Issue.record("the claim is empty")
                return
            }
            next.operation?._withUnsafeGuaranteedRef { operation in
                #expect(operation.exchange { $0.begunOnFastPath() } != nil)
            }
        }

        /// Records that the body of the running operation has begun and is suspended.
        ///
        /// - Parameter isLast: whether the worker does not go on.
        @discardableResult
        func suspendCurrent(isLast: Bool = false) -> Claim.OpenBody {
            let body = claim.open()
            if claim.lacksSlot, !isLast { state.provideSlot(for: claim) }
            return body
        }

        func provideSlot() { if claim.lacksSlot { state.provideSlot(for: claim) } }

        /// Ends an operation in the claim.
        func endInside(_ index: Int) { _ = operations[index].exchange { $0.finished() } }

        /// Records that the worker finds no more to begin, and runs jobs.
        func turnToJobs() { claim.turnToJobs() }

        func detach(_ body: Claim.OpenBody, of index: Int = 0) {
            state.detach(.passUnretained(operations[index]), body, from: claim)
        }

        func returnRest() { state.returnRest(of: claim) }

        func reclaimRest() -> [Entry] {
            let (ended, departure) = state.reclaimRest(of: claim)
            hasLeft(departure)
            return ended
        }

        func retire(nanoseconds: UInt64) {
            hasLeft(state.retire(claim, nanoseconds: nanoseconds))
        }

        /// How often a departure has said that the queue is empty.
        private(set) var emptied = 0

        private func hasLeft(_ departure: QueueState.Departure?) {
            guard let departure else {
                Issue.record("the claim is not over")
                return
            }
            if departure.isEmpty { emptied += 1 }
            departure.wakeWaiters()
        }

        /// Returns a count of the waits for the queue that have ended.
        func wait() -> Tally {
            let ended = Tally()
            #expect(state.waiterArrived(.handler { ended.increment() }) != nil)
            return ended
        }

        /// Finishes an operation that was suspended, outside of the claim.
        func end(_ operation: Operation) {
            #expect(operation.status.has(.claimedAlone))
            let holdsSlot = operation.status.has(.holdsSlot)
            _ = operation.exchange { $0.finished() }
            hasLeft(state.leave(operation, releasesSlot: holdsSlot))
            // Release the reference of the ring.
            Unmanaged.passUnretained(operation).release()
        }

        /// Releases the references of the ring.
        func release(_ operations: some Sequence<Operation>) {
            for operation in operations { Unmanaged.passUnretained(operation).release() }
        }
    }

    @Test func suspendedBodiesTakeSlotsAndLeaveTheClaimWhenItIsRetired() {
        let claimed = Claimed(count: 4, width: 3)
        for suspended in 0..<2 {
            claimed.suspendCurrent()
            #expect(claimed.running == suspended + 2 && claimed.claim.hasRest)
            claimed.startNext()
        }
        // The third body has the last slot, so the rest goes back.
        claimed.suspendCurrent()
        #expect(claimed.running == 3 && !claimed.claim.hasRest && claimed.claim.slotCount == 3)
        #expect(claimed.readyCount == 1)
        #expect(claimed.operations.allSatisfy { !$0.status.has(.claimedAlone) })
        claimed.retire(nanoseconds: 30)
        #expect(claimed.running == 3)
        for operation in claimed.operations.prefix(3) { claimed.end(operation) }
        #expect(claimed.running == 0)
        claimed.release(claimed.operations.suffix(1))
    }

    /// A body ends elsewhere while its worker has gone on to another queue, whose lock guards the
    /// claim from then on. Fails under the thread sanitizer only.
    @Test func bodyThatHasLeftItsClaimLeavesItAlone() async {
        let claimed = Claimed(count: 1, width: 1)
        let body = claimed.suspendCurrent(isLast: true)
        claimed.retire(nanoseconds: 1_000)
        let (claim, isClaimed) = (claimed.claim, Tally())
        startTestThread {
            claim.claimed(slots: .one, recallEpoch: 0) { _ in }
            isClaimed.increment()
        }
        claimed.detach(body)
        #expect(await comesTrue { isClaimed.value == 1 })
        claimed.end(claimed.operations[0])
        #expect(claimed.isEmpty && claimed.running == 0 && claim.slotCount == 1)
    }

    /// Each body is suspended or not; one that was suspended ends in the claim or elsewhere.
    @Test(arguments: [
        [true, false, true, false], [false, true, true, false], [false, false, false, true],
    ])
    func operationsThatEndInAClaimLeaveWithIt(suspends: [Bool]) {
        let claimed = Claimed(count: suspends.count, width: -1)
        for (index, isSuspended) in suspends.enumerated() {
            if isSuspended { claimed.suspendCurrent() } else { claimed.endInside(index) }
            if index < suspends.count - 1 { claimed.startNext() }
        }
        claimed.retire(nanoseconds: 4_000_000)
        #expect(claimed.typicalNanoseconds == 1_000_000, "shared among all four")
        let pairs = Array(zip(claimed.operations, suspends))
        for (operation, isSuspended) in pairs where isSuspended { claimed.end(operation) }
        #expect(claimed.isEmpty && claimed.running == 0)
        claimed.release(pairs.filter { !$0.1 }.map(\.0))
    }

    @Test func bodyThatIsResumedByItsWorkerEndsInTheClaim() {
        let claimed = Claimed(count: 3, width: 3)
        let first = claimed.suspendCurrent()
        claimed.startNext()
        let second = claimed.suspendCurrent()
        claimed.startNext()
        claimed.endInside(2)
        claimed.turnToJobs()
        #expect(claimed.running == 3)
        // The worker turns to the first body, which it protects from other threads while it ends
        // it; the third operation leaves early.
        #expect(claimed.claim.close(first))
        claimed.endInside(0)
        #expect(claimed.reclaimRest().isEmpty, "the last operation stays for the claim's owner")
        claimed.turnToJobs()
        #expect(claimed.reclaimRest().count == 1)
        #expect(claimed.running == 1, "the second body needs its slot, and nothing else does")
        // The second one ends on another thread.
        claimed.detach(second, of: 1)
        #expect(!claimed.operations[0].status.has(.claimedAlone))
        #expect(claimed.running == 1)
        claimed.end(claimed.operations[1])
        claimed.retire(nanoseconds: 1)
        #expect(claimed.isEmpty && claimed.running == 0)
        claimed.release([claimed.operations[0], claimed.operations[2]])
    }

    /// The body that has the claim's only slot takes it along. The rest must not begin without one,
    /// and must not wait until another worker has the slot: what is behind it would begin first.
    @Test func restGoesBackBeforeABodyGivesUpTheOnlySlot() {
        let claimed = Claimed(count: 3, width: 1)
        let first = claimed.suspendCurrent(isLast: true)
        claimed.add()
        #expect(claimed.readyCount == 1 && claimed.claim.hasRest)
        claimed.detach(first)
        #expect(claimed.running == 1, "the slot of the body that has ended")
        #expect(claimed.readyCount == 3 && !claimed.claim.hasRest)
        claimed.end(claimed.operations[0])
        #expect(claimed.running == 0)
        let next = Claim()
        claimed.claim(next)
        for operation in claimed.operations.dropFirst() {
            #expect(next.takeNext()?.isOperation(at: operation.opaque) == true)
        }
        claimed.provideSlot()
        #expect(claimed.claim.takeNext() == nil && claimed.running == 1)
        claimed.retire(nanoseconds: 1)
        claimed.release(claimed.operations.dropFirst())
    }

    /// If the width has another slot, the rest stays and gets that one.
    @Test func restStaysIfTheWidthHasAnotherSlot() {
        let claimed = Claimed(count: 2, width: 2)
        let first = claimed.suspendCurrent(isLast: true)
        claimed.detach(first)
        #expect(claimed.running == 2 && claimed.claim.hasRest)
        claimed.end(claimed.operations[0])
        claimed.provideSlot()
        #expect(claimed.running == 1 && claimed.claim.hasRest)
        claimed.startNext()
        claimed.endInside(1)
        claimed.retire(nanoseconds: 1)
        #expect(claimed.isEmpty && claimed.running == 0 && claimed.emptied == 1)
        claimed.release(claimed.operations.suffix(1))
    }

    /// A body that ends after its claim was retired must not be taken for one of the next claim.
    @Test func bodiesOfAnEarlierClaimAreToldApart() {
        let claimed = Claimed(count: 2, width: 1)
        let first = claimed.suspendCurrent()
        claimed.retire(nanoseconds: 1)
        claimed.end(claimed.operations[0])
        claimed.claim(claimed.claim)
        claimed.startNext()
        _ = claimed.claim.open()
        claimed.detach(first)
        #expect(!claimed.claim.close(first))
        #expect(!claimed.operations[1].status.has(.claimedAlone) && claimed.running == 1)
        claimed.endInside(1)
        claimed.retire(nanoseconds: 1)
        claimed.release(claimed.operations.suffix(1))
    }

    /// The operation that the worker took last has ended elsewhere, and has left by itself. What is
    /// left in the claim leaves with the rest, and the claim is retired with nothing in it.
    @Test func queueIsEmptyWhenTheLastEntriesLeaveWithAReclaimedRest() {
        let claimed = Claimed(count: 2, width: 1)
        claimed.endInside(0)
        claimed.startNext()
        let last = claimed.suspendCurrent(isLast: true)
        let woken = claimed.wait()
        claimed.detach(last, of: 1)
        claimed.end(claimed.operations[1])
        #expect(!claimed.isEmpty && claimed.emptied == 0 && woken.value == 0)
        #expect(claimed.reclaimRest().count == 1)
        #expect(claimed.isEmpty && claimed.emptied == 1 && woken.value == 1)
        claimed.retire(nanoseconds: 1)
        #expect(claimed.emptied == 1 && claimed.running == 0)
        claimed.release(claimed.operations.prefix(1))
    }

    @Test func claimsRespectTheSlotsOfSuspendedBodies() {
        let claimed = Claimed(count: 40, width: 5)
        claimed.suspendCurrent()
        claimed.returnRest()
        claimed.claim.hasSuspended = true
        claimed.retire(nanoseconds: 1)
        #expect(claimed.running == 1)
        let next = Claim()
        claimed.claim(next)
        #expect(claimed.running == 5, "each entry has a slot")
        var count = 0
        while next.takeNext() != nil { count += 1 }
        #expect(count == 4)
        claimed.end(claimed.operations[0])
        claimed.release(claimed.operations.dropFirst())
    }

    /// A body that yields again and again must not keep other bodies from beginning or going on,
    /// and must go on itself.
    @Test(arguments: [1, 2, -1]) func yieldingBodiesTakeTurns(width: Int) async {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = width
        let (others, turns) = (Tally(), Tally())
        let count = 2_000 / slowness
        await Place.outside.make {
            for _ in 0..<4 {
                queue.add {
                    // In a queue of width one, nothing else may run meanwhile.
                    while width > 1 || width < 0 ? others.value < count : turns.value < count {
                        turns.increment()
                        await Task.yield()
                    }
                }
            }
            for index in 0..<count {
                OperationQueue.yielding.add {
                    if index % 2 == 0 { await Task.yield() }
                    others.increment()
                }
            }
        }
        await OperationQueue.yielding.drain()
        await queue.drain()
        #expect(others.value == count && turns.value > 0)
    }

    /// A child task begins on another worker while its parent computes, if a processor is idle.
    @Test func childTaskBeginsWhileItsParentComputes() async throws {
        guard WorkerPool.cores > 1 else { return }
        let (queue, end) = (serialQueue(), TestEnd())
        await Place.outside.make {
            for _ in 0..<50 {
                queue.add {
                    let hasBegun = Tally()
                    async let child: Void = { _ = hasBegun.increment() }()
                    while hasBegun.value == 0, !end.hasCome {}
                    #expect(hasBegun.value == 1)
                    await child
                }
            }
        }
        await queue.drain()
    }

    /// The body begins on the worker's thread and blocks it: the rest of the claim must get the
    /// second slot.
    @Test func bodyMayWaitForTheNextOperationOfItsClaim() async {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 2
        await onThread {
            for _ in 0..<20 {
                let done = Signal()
                queue.isSuspended = true
                // Operations this short are both claimed at once.
                queue.event { $0.slots.pace.typicalNanoseconds = 10 }
                let waiting = TypedOperation<Void> { () async in #expect(done.wait()) }
                // The quality of service gives the task a priority.
                waiting.qualityOfService = .utility
                queue.addOperation(waiting)
                queue.addOperation { done.send() }
                queue.isSuspended = false
                waiting.waitUntilFinished()
            }
        }
        await queue.drain()
    }
}

extension OperationQueue {
    fileprivate static let yielding = OperationQueue()
}
