import Dispatch
import Operations
import OperationsTestKit
import OperationsTestSupport
import Testing

/// Barriers: rows Q10 and B6–B8.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct BarrierContractTests {
    @Test(
        "Q10: a barrier runs alone, after all earlier operations and before all later ones",
        arguments: [1, 4, -1])
    func barrierSeparatesEarlierFromLaterOperations(width: Int) async {
        let queue = suspendedQueue()
        queue.maxConcurrentOperationCount = width
        let (order, inside) = (TestRecorder<Int>(), Occupancy())
        let alone = TestRecorder<Bool>()
        for section in 0..<10 {
            for _ in 0..<20 {
                queue.addOperation {
                    inside.enter()
                    order.record(section)
                    inside.leave()
                }
            }
            queue.addBarrierBlock {
                alone.record(order.events.count == 20 * (section + 1) + section)
                order.record(section)
            }
        }
        queue.isSuspended = false
        await queue.drain()
        #expect(order.events.count == 10 * 20 + 10)
        #expect(order.events == order.events.sorted())
        #expect(alone.events == Array(repeating: true, count: 10))
        #expect(inside.highest <= (width < 0 ? 200 : width))
    }

    @Test("Q10: earlier operations end before a barrier runs, and later ones start after its end")
    func noOperationOverlapsABarrier() async {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 4
        let (before, barrierBegan, proceed) = (Signal(), Signal(), Signal())
        let finished = Tally()
        let seen = TestRecorder<Int>()
        for _ in 0..<3 {
            queue.addOperation {
                before.wait()
                finished.increment()
            }
        }
        queue.addBarrierBlock {
            seen.record(finished.value)
            barrierBegan.send()
            proceed.wait()
            seen.record(finished.value)
        }
        for _ in 0..<3 { queue.addOperation { finished.increment() } }
        for _ in 0..<3 { before.send() }
        await onThread { _ = barrierBegan.wait() }
        // Another queue runs its operations meanwhile.
        await OperationQueue().addOperations(
            (0..<20).map { _ in Operation() }, waitUntilFinished: true)
        proceed.send()
        await queue.drain()
        #expect(seen.events == [3, 3])
        #expect(finished.value == 6)
    }

    @Test("Q10: no priority lets an operation overtake a barrier")
    func noPriorityLetsAnOperationOvertakeABarrier() async {
        let queue = serialQueue()
        queue.isSuspended = true
        let order = TestRecorder<String>()
        let first = BlockOperation { order.record("first") }
        first.queuePriority = .veryLow
        let behind = BlockOperation { order.record("behind") }
        queue.addOperation(first)
        queue.addBarrierBlock { order.record("barrier") }
        queue.addOperation(behind)
        behind.queuePriority = .veryHigh
        queue.isSuspended = false
        await queue.drain()
        #expect(order.events == ["first", "barrier", "behind"])
    }

    @Test("Q10, O27: an operation before a barrier still starts if its priority changes")
    func priorityChangeKeepsAnOperationBeforeItsBarrier() async {
        let queue = suspendedQueue()
        let order = TestRecorder<String>()
        let first = BlockOperation { order.record("first") }
        first.queuePriority = .low
        queue.addOperation(first)
        queue.addBarrierBlock { order.record("barrier") }
        first.queuePriority = .normal
        queue.isSuspended = false
        await queue.drain()
        #expect(order.events == ["first", "barrier"])
    }

    @Test("Q10: a barrier waits for earlier operations that are not ready")
    func barrierWaitsForEarlierOperationsThatAreNotReady() async {
        let queue = OperationQueue()
        let order = TestRecorder<String>()
        let gate = Operation()
        let first = BlockOperation { order.record("first") }
        first.addDependency(gate)
        queue.addOperation(first)
        queue.addBarrierBlock { order.record("barrier") }
        let behind = BlockOperation { order.record("behind") }
        queue.addOperation(behind)
        #expect(behind.isReady, "a barrier is not a dependency")
        gate.start()
        await queue.drain()
        #expect(order.events == ["first", "barrier", "behind"])
    }

    @Test("Q10: consecutive barriers run in the order added")
    func barriersRunInTheOrderAdded() async {
        let queue = OperationQueue()
        let order = TestRecorder<Int>()
        for index in 0..<100 { queue.addBarrierBlock { order.record(index) } }
        await queue.drain()
        #expect(order.events == Array(0..<100))
    }

    @Test("Q10: a barrier is in neither operations nor operationCount")
    func barrierIsNotListed() async {
        let queue = suspendedQueue()
        queue.addBarrierBlock {}
        #expect(queue.operationCount == 0)
        let operation = Operation()
        queue.addOperation(operation)
        queue.addBarrierBlock {}
        #expect(queue.operationCount == 1)
        #expect(queue.operations == [operation])
        queue.isSuspended = false
        await queue.drain()
    }

    @Test("Q10: cancelAllOperations drops a barrier's block and releases its captures")
    func cancelAllDropsBarriersAndTheirCaptures() async {
        let queue = suspendedQueue()
        let (runs, releases) = (Tally(), Tally())
        do {
            let token = Token(releases)
            queue.addOperation { runs.increment() }
            queue.addBarrierBlock {
                withExtendedLifetime(token) {}
                runs.increment()
            }
        }
        queue.cancelAllOperations()
        let after = Tally()
        queue.addOperation { after.increment() }
        queue.isSuspended = false
        await queue.drain()
        #expect(runs.value == 0)
        #expect(after.value == 1)
        #expect(await comesTrue { releases.value == 1 })
    }

    @Test("Q10, Q4: a cancelled operation behind a barrier leaves its queue at once")
    func cancelledOperationBehindABarrierLeavesAtOnce() async {
        let queue = suspendedQueue()
        queue.addOperation {}
        queue.addBarrierBlock {}
        let behind = Operation()
        queue.addOperation(behind)
        behind.cancel()
        await behind.waitUntilFinished()
        #expect(queue.operationCount == 1)
        queue.isSuspended = false
        await queue.drain()
    }

    @Test("B6: a barrier in an idle, suspended queue waits until the queue resumes")
    func suspendedQueueHoldsABarrier() async {
        let queue = suspendedQueue()
        let runs = Tally()
        queue.addBarrierBlock { runs.increment() }
        await OperationQueue().addOperations(
            (0..<50).map { _ in Operation() }, waitUntilFinished: true)
        #expect(runs.value == 0)
        queue.isSuspended = false
        await queue.drain()
        #expect(runs.value == 1)
    }

    @Test("B7, Q10: a wait includes a barrier, even if the queue has nothing else")
    func waitsIncludeABarrier() async {
        for _ in 0..<500 {
            let queue = OperationQueue()
            let runs = Tally()
            queue.addBarrierBlock { runs.increment() }
            await queue.drain()
            #expect(runs.value == 1)
        }
    }

    @Test("B7: a barrier runs on the underlying queue, and later operations do not overlap it")
    func barrierRunsOnTheUnderlyingQueue() async {
        let key = DispatchSpecificKey<Int>()
        let underlying = DispatchQueue(label: "underlying", attributes: .concurrent)
        underlying.setSpecific(key: key, value: 7)
        let queue = OperationQueue()
        queue.underlyingQueue = underlying
        let (seen, order) = (TestRecorder<Int?>(), TestRecorder<String>())
        queue.addBarrierBlock {
            seen.record(DispatchQueue.getSpecific(key: key))
            order.record("barrier begins")
            order.record("barrier ends")
        }
        queue.addOperation { order.record("behind") }
        await queue.drain()
        #expect(seen.events == [7])
        #expect(order.events == ["barrier begins", "barrier ends", "behind"])
    }

    @Test("B8: a barrier of the main queue runs on the main thread")
    func mainQueueBarrierRunsOnTheMainThread() async {
        let runs = Tally()
        OperationQueue.main.addBarrierBlock {
            MainActor.assertIsolated()
            runs.increment()
        }
        await OperationQueue.main.drain()
        #expect(runs.value == 1)
    }

    @Test("Q10: inside a barrier, current is its queue, and the barrier may add to it")
    func barrierMayAddToItsQueue() async {
        let queue = OperationQueue()
        let order = TestRecorder<String>()
        queue.addBarrierBlock {
            if OperationQueue.current === queue { order.record("barrier") }
            queue.addOperation { order.record("added") }
        }
        await queue.drain()
        #expect(order.events == ["barrier", "added"])
    }

    @Test("Q14: addBarrierBlock can be overridden")
    func addBarrierBlockCanBeOverridden() async {
        final class Watching: OperationQueue, @unchecked Sendable {
            let barriers = Tally()
            override func addBarrierBlock(_ barrier: @escaping @Sendable () -> Void) {
                barriers.increment()
                super.addBarrierBlock(barrier)
            }
        }
        let queue = Watching()
        queue.addBarrierBlock {}
        await queue.drain()
        #expect(queue.barriers.value == 1)
    }
}
