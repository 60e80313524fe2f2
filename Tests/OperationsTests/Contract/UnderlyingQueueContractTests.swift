import Dispatch
import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

/// Operation queues that run on a dispatch queue of the user: rows Q9, Q16 and B14.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct UnderlyingQueueContractTests {
    private static let key = DispatchSpecificKey<Int>()

    private func dispatchQueue(_ attributes: DispatchQueue.Attributes = []) -> DispatchQueue {
        let queue = DispatchQueue(label: "underlying", attributes: attributes)
        queue.setSpecific(key: Self.key, value: 7)
        return queue
    }

    @Test(
        "Q16: underlyingQueue is nil unless set; that of the main queue is the main dispatch queue")
    func underlyingQueueIsNilExceptForTheMainQueue() {
        #expect(OperationQueue().underlyingQueue == nil)
        // On Linux, each use of `DispatchQueue.main` returns a new object.
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        #expect(OperationQueue.main.underlyingQueue?.getSpecific(key: key) == true)
        DispatchQueue.main.setSpecific(key: key, value: nil)
    }

    @Test("Q16: all operations run on the underlying queue, and current is the operation queue")
    func operationsRunOnTheUnderlyingQueue() async {
        let queue = OperationQueue()
        let underlying = dispatchQueue(.concurrent)
        queue.underlyingQueue = underlying
        let seen = TestRecorder<Bool>()
        let recordContext: @Sendable () -> Void = {
            seen.record(
                DispatchQueue.getSpecific(key: Self.key) == 7 && OperationQueue.current === queue)
        }
        for _ in 0..<20 { queue.addOperation(recordContext) }
        let chain = (0..<20).map { _ in BlockOperation(block: recordContext) }
        for (later, earlier) in zip(chain.dropFirst(), chain) { later.addDependency(earlier) }
        await queue.addOperations(chain, waitUntilFinished: true)
        await queue.drain()
        #expect(seen.events == Array(repeating: true, count: 40))
    }

    @Test("Q16: on a serial dispatch queue, operations run one at a time and by priority")
    func serialUnderlyingQueueRunsOneAtATimeByPriority() async {
        let queue = suspendedQueue()
        queue.underlyingQueue = dispatchQueue()
        queue.maxConcurrentOperationCount = 8
        let (inside, order) = (Occupancy(), TestRecorder<Int>())
        for index in 0..<30 {
            let operation = BlockOperation {
                inside.enter()
                order.record(index % 5)
                inside.leave()
            }
            operation.queuePriority = Operation.QueuePriority.allCases[index % 5]
            queue.addOperation(operation)
        }
        queue.isSuspended = false
        await queue.drain()
        #expect(inside.highest == 1)
        #expect(order.events.count == 30)
        #expect(order.events == order.events.sorted(by: >))
    }

    @Test("Q6, Q16: the width holds on a concurrent dispatch queue")
    func widthHoldsOnAConcurrentUnderlyingQueue() async {
        let queue = OperationQueue()
        queue.underlyingQueue = dispatchQueue(.concurrent)
        queue.maxConcurrentOperationCount = 2
        let inside = Occupancy()
        for _ in 0..<200 {
            queue.addOperation {
                inside.enter()
                inside.leave()
            }
        }
        await queue.drain()
        #expect(inside.highest <= 2)
    }

    @Test("Q9: suspending the queue does not suspend the dispatch queue")
    func suspendingDoesNotSuspendTheUnderlyingQueue() async {
        let queue = suspendedQueue()
        let underlying = dispatchQueue()
        queue.underlyingQueue = underlying
        let runs = Tally()
        queue.addOperation { runs.increment() }
        await withCheckedContinuation { continuation in
            underlying.async { continuation.resume() }
        }
        #expect(runs.value == 0)
        queue.isSuspended = false
        await queue.drain()
        #expect(runs.value == 1)
    }

    @Test("Q9: a suspended dispatch queue holds operations back until it resumes")
    func suspendedUnderlyingQueueHoldsOperationsBack() async {
        let queue = OperationQueue()
        let underlying = dispatchQueue()
        underlying.suspend()
        queue.underlyingQueue = underlying
        let operation = Operation()
        queue.addOperation(operation)
        await OperationQueue().addOperations(
            (0..<50).map { _ in Operation() }, waitUntilFinished: true)
        #expect(!operation.isFinished)
        underlying.resume()
        await queue.drain()
        #expect(operation.isFinished)
    }

    @Test("Q16: two queues may share one dispatch queue")
    func twoQueuesMayShareAnUnderlyingQueue() async {
        let underlying = dispatchQueue()
        let queues = (0..<2).map { _ in
            let queue = OperationQueue()
            queue.underlyingQueue = underlying
            return queue
        }
        let inside = Occupancy()
        for index in 0..<100 {
            queues[index % 2].addOperation {
                inside.enter()
                inside.leave()
            }
        }
        for queue in queues { await queue.drain() }
        #expect(inside.highest == 1)
    }

    @Test("Q16: the underlying queue of an empty operation queue can be removed")
    func underlyingQueueOfAnEmptyQueueCanBeRemoved() async {
        let queue = OperationQueue()
        queue.underlyingQueue = dispatchQueue()
        queue.addOperation {}
        await queue.drain()
        queue.underlyingQueue = nil
        let seen = TestRecorder<Int?>()
        queue.addOperation { seen.record(DispatchQueue.getSpecific(key: Self.key)) }
        await queue.drain()
        #expect(queue.underlyingQueue == nil)
        #expect(seen.events == [nil])
    }

    @Test("Q16: an operation queue retains its underlying queue until it is released itself")
    func queueRetainsItsUnderlyingQueue() async {
        weak var weakUnderlying: DispatchQueue?
        do {
            let queue = OperationQueue()
            do {
                let underlying = dispatchQueue()
                weakUnderlying = underlying
                queue.underlyingQueue = underlying
            }
            #expect(weakUnderlying != nil)
            queue.addOperation {}
            await queue.drain()
        }
        #expect(await comesTrue { weakUnderlying == nil })
    }

    @Test("Q16: setting underlyingQueue while operations are in the queue stops the program")
    func settingUnderlyingQueueOfABusyQueueTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = suspendedQueue()
            queue.name = "Download queue"
            queue.addOperation {}
            queue.underlyingQueue = DispatchQueue(label: "underlying")
        }
        expect(result, says: "Download queue")
    }

    @Test("B14: with the main dispatch queue, everything runs on the main thread, in order")
    func mainDispatchQueueRunsOperationsOnMainThread() async {
        let queue = OperationQueue()
        queue.name = "Interface"
        queue.underlyingQueue = .main
        let (inside, seen) = (Occupancy(), TestRecorder<String>())
        @Sendable func record(_ name: String) {
            inside.enter()
            MainActor.assertIsolated()
            #expect(OperationQueue.current === queue)
            seen.record(name)
            inside.leave()
        }
        let (first, last) = (
            BlockOperation { seen.record("first") }, BlockOperation { record("last") }
        )
        last.queuePriority = .veryHigh
        last.addDependency(first)
        queue.addOperation(last)
        queue.addBarrierBlock { record("barrier") }
        queue.addOperation { record("block") }
        queue.addOperation(DispatchedOperation { seen.record("elsewhere") })
        OperationQueue().addOperation(first)
        await queue.drain()
        #expect(inside.highest == 1)
        #expect(seen.events.prefix(3) == ["first", "last", "barrier"])
        #expect(Set(seen.events.dropFirst(3)) == ["block", "elsewhere"])
    }

    @Test("B14: a queue on the main dispatch queue can still be configured")
    func queueOnMainDispatchQueueCanBeConfigured() async {
        let queue = OperationQueue()
        queue.underlyingQueue = .main
        queue.isSuspended = true
        queue.maxConcurrentOperationCount = 3
        queue.qualityOfService = .utility
        #expect(queue.isSuspended && queue.maxConcurrentOperationCount == 3)
        #expect(queue.qualityOfService == .utility && queue !== OperationQueue.main)
        let ran = Tally()
        queue.addOperation { ran.increment() }
        await OperationQueue.main.drain()
        #expect(ran.value == 0)
        queue.isSuspended = false
        await queue.drain()
        queue.underlyingQueue = nil
        queue.addOperation { #expect(!MainThread.isCurrent) }
        await queue.drain()
        #expect(ran.value == 1)
    }

    @Test("Q14: underlyingQueue can be overridden")
    func underlyingQueueCanBeOverridden() {
        final class Watching: OperationQueue, @unchecked Sendable {
            let sets = Tally()
            override var underlyingQueue: DispatchQueue? { didSet { sets.increment() } }
        }
        let queue = Watching()
        queue.underlyingQueue = nil
        #expect(queue.sets.value == 1)
    }

    @Test("Q16: the checked setter throws for a busy queue")
    func checkedSetterThrowsForBusyQueue() async throws {
        let queue = suspendedQueue()
        queue.name = "Download queue"
        let underlying = DispatchQueue(label: "underlying")
        queue.addOperation {}
        let busy = Checked.message { try queue.setUnderlyingQueueChecked(underlying) }
        #expect(busy?.contains("Download queue") == true)
        #expect(queue.underlyingQueue == nil)
        queue.isSuspended = false
        await queue.drain()
        try queue.setUnderlyingQueueChecked(underlying)
        #expect(queue.underlyingQueue === underlying)
    }

    @Test("Q16: an underlying queue set before a worker leaves runs the operations added later")
    func underlyingQueueSetBeforeAWorkerLeavesIsUsed() async {
        let underlying = dispatchQueue()
        let (reached, changed, unblocked) = (Signal(), Signal(), Signal())
        underlying.async { unblocked.wait() }
        let queue = OperationQueue()
        let (releases, seen) = (Tally(), TestRecorder<Bool>())
        func begin() async -> KeyValueObservation {
            let token = Token(releases)
            let operation = BlockOperation { withExtendedLifetime(token) {} }
            let observation = operation.observe(\.isFinished) { _, _ in
                reached.send()
                changed.wait()
            }
            queue.addOperation(operation)
            await operation.waitUntilFinished()
            return observation
        }
        let observation = await begin()
        await onThread { _ = reached.wait() }
        queue.underlyingQueue = underlying
        queue.addOperation { seen.record(DispatchQueue.getSpecific(key: Self.key) == 7) }
        changed.send()
        #expect(await comesTrue { releases.value == 1 })
        unblocked.send()
        await queue.drain()
        #expect(seen.events == [true])
        withExtendedLifetime(observation) {}
    }
}
