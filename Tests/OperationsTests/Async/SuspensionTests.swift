import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

/// A suspended operation leaves its batch, which continues.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct SuspensionTests {
    /// The queue measures how long suspended operations take. Without a measurement, workers claim
    /// each operation by itself.
    ///
    /// A body that is made inside a task hands over the slot of its batch when it suspends, which
    /// returns the rest of the batch and discards the measured time. So these bodies are made
    /// outside of tasks.
    @Test func durationOfSuspendedOperationsIsMeasured() async {
        let queue = OperationQueue()
        await Place.outside.make {
            for _ in 0..<2_000 { queue.add { await Task.yield() } }
        }
        await queue.drain()
        let (learned, running) = queue.snapshot { ($0.typicalNanoseconds, $0.running) }
        #expect(learned != QueueState.unknownNanoseconds)
        #expect(running == 0)
    }

    /// A queue and a batch of operations, the first of which runs.
    private final class Claimed {
        private var state: QueueState
        private let queue = OperationQueue()
        let batch = Claim()
        let operations: [Operation]

        init(count: Int, width: Int) {
            state = QueueState(width: width)
            operations = (0..<count).map { _ in BlockOperation {} }
            for operation in operations { _ = state.add(operation, to: queue) }
            // Operations this short are all claimed at once.
            state.typicalNanoseconds = 10
            claim(batch)
            startNext()
        }

        var running: Int { state.running }
        var readyCount: Int { state.readyCount }
        var typicalNanoseconds: UInt64 { state.typicalNanoseconds }
        var isEmpty: Bool { state.isEmpty }

        func claim(_ batch: Claim) { _ = state.executorRequestedWork(batch, cores: 1) }

        func startNext() {
            guard let next = batch.takeNext() else {
                Issue.record("the batch is empty")
                return
            }
            next.operation?._withUnsafeGuaranteedRef { operation in
                #expect(operation.exchange { $0.begunOnFastPath() } != nil)
            }
        }

        /// Suspends the running operation.
        @discardableResult
        func suspendCurrent() -> Operation {
            state.detachCurrent(from: batch, keepingRest: true).takeUnretainedValue()
        }

        func returnRest() { state.returnRest(of: batch) }

        func retire(nanoseconds: UInt64) { _ = state.retire(batch, nanoseconds: nanoseconds) }

        /// Finishes an operation that was suspended.
        func end(_ operation: Operation) {
            let holdsSlot = operation.status.has(.holdsSlot)
            _ = operation.exchange { $0.finished() }
            _ = state.leave(operation, releasesSlot: holdsSlot)
            // Release the references of the task and of the ring.
            for _ in 0..<2 { Unmanaged.passUnretained(operation).release() }
        }

        /// Releases the references of the ring.
        func release(_ operations: some Sequence<Operation>) {
            for operation in operations { Unmanaged.passUnretained(operation).release() }
        }
    }

    @Test func suspendedOperationTakesASlotAndLeavesTheBatch() {
        let claimed = Claimed(count: 4, width: 3)
        for suspended in 0..<2 {
            #expect(claimed.suspendCurrent() === claimed.operations[suspended])
            #expect(claimed.running == suspended + 2 && claimed.batch.hasRest)
            claimed.startNext()
        }
        // The third operation takes the batch's slot, and the batch keeps nothing.
        claimed.suspendCurrent()
        #expect(claimed.running == 3 && !claimed.batch.hasRest && !claimed.batch.holdsSlot)
        #expect(claimed.readyCount == 1)
        claimed.retire(nanoseconds: 30)
        #expect(claimed.running == 3)
        for operation in claimed.operations.prefix(3) { claimed.end(operation) }
        #expect(claimed.running == 0)
        claimed.release(claimed.operations.suffix(1))
    }

    @Test(arguments: [
        [true, false, true, false], [false, true, true, false], [false, false, false, true],
    ])
    func operationsThatEndInABatchLeaveWithIt(suspends: [Bool]) {
        let claimed = Claimed(count: suspends.count, width: -1)
        for (index, isSuspended) in suspends.enumerated() {
            if isSuspended {
                claimed.suspendCurrent()
            } else {
                _ = claimed.operations[index].exchange { $0.finished() }
            }
            if index < suspends.count - 1 { claimed.startNext() }
        }
        var left = Set<ObjectIdentifier>()
        claimed.batch.forEachTaken { entry in
            if let operation = entry.operation?.takeUnretainedValue() {
                left.insert(ObjectIdentifier(operation))
            }
        }
        let ended = zip(claimed.operations, suspends).filter { !$0.1 }.map(\.0)
        #expect(left == Set(ended.map { ObjectIdentifier($0) }))
        claimed.retire(nanoseconds: 4_000_000)
        #expect(claimed.typicalNanoseconds == 1_000_000, "shared among all four")
        for (operation, isSuspended) in zip(claimed.operations, suspends) where isSuspended {
            claimed.end(operation)
        }
        #expect(claimed.isEmpty && claimed.running == 0)
        claimed.release(ended)
    }

    @Test func claimsRespectTheSlotsOfSuspendedBodies() {
        let claimed = Claimed(count: 40, width: 5)
        claimed.suspendCurrent()
        claimed.returnRest()
        claimed.retire(nanoseconds: 1)
        #expect(claimed.running == 1)
        let next = Claim()
        claimed.claim(next)
        var count = 0
        while next.takeNext() != nil { count += 1 }
        #expect(count == 4)
        claimed.end(claimed.operations[0])
        claimed.release(claimed.operations.dropFirst())
    }

    /// The body begins on the worker's thread and blocks it: the rest of the batch must get the
    /// second slot.
    @Test func bodyMayWaitForTheNextOperationOfItsBatch() async {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 2
        await onThread {
            for _ in 0..<20 {
                let done = Signal()
                queue.isSuspended = true
                // Operations this short are both claimed at once.
                queue.event { $0.typicalNanoseconds = 10 }
                let waiting = AsyncOperation { () async in #expect(done.wait()) }
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
