import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

/// Operations that become ready while a worker runs a claim, and that the claim keeps; see
/// QueuesAndClaims.md.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct ClaimSuccessorTests {
    @Test func eachKeptSuccessorIsTakenOnce() async {
        let claim = Claim()
        let operation = Operation()
        let successor = Unmanaged.passUnretained(operation)
        let (taken, refused) = (Tally(), Tally())
        let isOver = Tally()
        await withTaskGroup(of: Void.self) { group in
            group.addTask {
                for _ in 0..<100_000 where !claim.keepSuccessor(successor) { refused.increment() }
                isOver.increment()
            }
            group.addTask {
                while isOver.value == 0 { claim.takeSuccessors { _ in taken.increment() } }
            }
        }
        claim.takeSuccessors { _ in taken.increment() }
        #expect(taken.value + refused.value == 100_000)
    }

    /// Two operations in a queue: a claim has run the first one and keeps the second one.
    private struct Kept: ~Copyable {
        var state = QueueState()
        let queue = OperationQueue()
        let claim = Claim()
        let first = BlockOperation {}
        let successor = BlockOperation {}

        init(width: Int = OperationQueue.defaultMaxConcurrentOperationCount) {
            state.changed(.width(width))
            successor.addDependency(first)
            for operation in [first, successor] { _ = state.add(operation, to: queue) }
            guard case .claim = state.executorRequestedWork(claim, cores: 1),
                claim.takeNext() != nil
            else {
                Issue.record("nothing was claimed")
                return
            }
            _ = first.exchange { $0.finished() }
            _ = successor.exchange { $0.dependencyFinished() }
            let isKept = claim.keepSuccessor(.passUnretained(successor))
            // The monitor thread watches the claim, although nothing else waits in it.
            #expect(isKept && claim.progress == 1 && !claim.canContinue)
            #expect(state.ready.count == 0)
        }

        /// Ends the claimed successor, and releases the references that the ring held.
        mutating func end() {
            #expect(claim.takeNext()?.isOperation(at: successor.opaque) == true)
            _ = successor.exchange { $0.finished() }
            _ = state.retire(claim, nanoseconds: 1)
            #expect(state.slots.taken == 0)
            for operation in [first, successor] { Unmanaged.passUnretained(operation).release() }
        }
    }

    @Test(arguments: [false, true])
    func keptSuccessorsBecomeReadyWithTheirClaim(isReclaimed: Bool) {
        var kept = Kept()
        if isReclaimed {
            _ = kept.state.reclaimRest(of: kept.claim)
            #expect(kept.state.ready.count == 1)
        }
        _ = kept.state.retire(kept.claim, nanoseconds: 1)
        #expect(
            kept.state.ready.count == 1 && kept.state.slots.taken == 0 && kept.claim.canContinue)
        guard case .claim = kept.state.executorRequestedWork(kept.claim, cores: 1) else {
            Issue.record("the successor was not claimed")
            return
        }
        kept.end()
    }

    /// The worker comes back for its slot, which is free meanwhile. Another worker is called only
    /// if there is a further slot.
    @Test(arguments: [1, 2])
    func keptSuccessorsAreOfferedWithTheRetirement(width: Int) {
        var kept = Kept(width: width)
        _ = kept.state.retire(kept.claim, nanoseconds: 1, keepsSlot: true)
        let isOffered = kept.state.offer() != nil
        #expect(isOffered == (width == 2) && kept.state.slots.taken == 1)
        kept.state.returnSlot(of: kept.claim)
        #expect(kept.state.slots.taken == 0)
        let work = kept.state.claimNext(
            kept.claim, offered: .usual, cores: 1, pending: isOffered ? 1 : 0)
        guard case .claim = work else {
            Issue.record("the successor was not claimed")
            return
        }
        #expect(kept.state.slots.taken == 1)
        kept.end()
    }

    /// The second operation of a claim waits for the successor of the first one, in a way that the
    /// library does not know of.
    @Test func noSuccessorWaitsBehindABlockedOperation() async {
        let (queue, gate, runs) = (OperationQueue(), Signal(), Tally())
        queue.claimsMany()
        queue.isSuspended = true
        let first = BlockOperation {}
        let successor = BlockOperation { runs.increment() }
        successor.addDependency(first)
        let others = (0..<200).map { _ in BlockOperation {} }
        await queue.addOperations(
            [first, BlockOperation { gate.wait() }] + others + [successor],
            waitUntilFinished: false)
        queue.isSuspended = false
        #expect(await comesTrue { runs.value == 1 })
        gate.send()
        await queue.drain()
    }

    @Test func successorOfHigherPriorityGoesBeforeTheRestOfAClaim() async {
        let (queue, order) = (OperationQueue(), TestRecorder<Int>())
        queue.maxConcurrentOperationCount = 1
        queue.claimsMany()
        queue.isSuspended = true
        let first = BlockOperation {}
        let successor = BlockOperation { order.record(-1) }
        successor.queuePriority = .high
        successor.addDependency(first)
        let others = (0..<100).map { index in BlockOperation { order.record(index) } }
        await queue.addOperations([first] + others + [successor], waitUntilFinished: false)
        queue.isSuspended = false
        await queue.drain()
        #expect(order.events == [-1] + Array(0..<100))
    }
}
