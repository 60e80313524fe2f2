import Dispatch
import Operations
import OperationsTestKit
import TestSupport
import Testing

/// Queues that run on a dispatch queue of the user's: rows Q16, Q9, B14.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct UnderlyingQueueContractTests {
    private static let key = DispatchSpecificKey<Int>()

    private func dispatchQueue(_ attributes: DispatchQueue.Attributes = []) -> DispatchQueue {
        let queue = DispatchQueue(label: "underlying", attributes: attributes)
        queue.setSpecific(key: Self.key, value: 7)
        return queue
    }

    @Test("Q16: nil unless set; the main queue's is the main dispatch queue")
    func theDefaults() {
        #expect(OperationQueue().underlyingQueue == nil)
        // Dispatch on Linux makes a new object each time the main queue is asked for.
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        #expect(OperationQueue.main.underlyingQueue?.getSpecific(key: key) == true)
        DispatchQueue.main.setSpecific(key: key, value: nil)
    }

    @Test("Q16: every operation runs on it, whatever its kind, and current is the operation queue")
    func operationsRunOnIt() async {
        let queue = OperationQueue()
        let underlying = dispatchQueue(.concurrent)
        queue.underlyingQueue = underlying
        let seen = Recorder<Bool>()
        let look: @Sendable () -> Void = {
            seen.record(
                DispatchQueue.getSpecific(key: Self.key) == 7 && OperationQueue.current === queue)
        }
        for _ in 0..<20 { queue.addOperation(look) }
        let chain = (0..<20).map { _ in BlockOperation(block: look) }
        for (later, earlier) in zip(chain.dropFirst(), chain) { later.addDependency(earlier) }
        await queue.addOperations(chain, waitUntilFinished: true)
        await queue.drain()
        #expect(seen.events == Array(repeating: true, count: 40))
    }

    @Test("Q16: a serial one runs one operation at a time, at any width, the best first")
    func aSerialOne() async {
        let queue = suspendedQueue()
        queue.underlyingQueue = dispatchQueue()
        queue.maxConcurrentOperationCount = 8
        let (inside, order) = (Occupancy(), Recorder<Int>())
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

    @Test("Q6, Q16: the width holds on a concurrent one")
    func theWidthHolds() async {
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
    func suspensionLeavesItAlone() async {
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

    @Test("Q9: a suspended dispatch queue holds the operations back until it goes on")
    func aSuspendedDispatchQueue() async {
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

    @Test("Q16: on a concurrent one no operation waits behind another one that is slow")
    func nobodyWaitsBehindASlowOne() async {
        let queue = suspendedQueue()
        queue.underlyingQueue = DispatchQueue(label: "concurrent", attributes: .concurrent)
        queue.claimsSeveral()
        let (second, seen) = (Signal(), Recorder<Bool>())
        queue.addOperation { seen.record(second.wait()) }
        queue.addOperation { second.send() }
        queue.isSuspended = false
        await queue.drain()
        #expect(seen.events == [true])
    }

    @Test("Q16: two queues may share one dispatch queue")
    func twoQueuesShareOne() async {
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

    @Test("Q16: it can be taken away again when the queue is empty")
    func itCanBeTakenAway() async {
        let queue = OperationQueue()
        queue.underlyingQueue = dispatchQueue()
        queue.addOperation {}
        await queue.drain()
        queue.underlyingQueue = nil
        let seen = Recorder<Int?>()
        queue.addOperation { seen.record(DispatchQueue.getSpecific(key: Self.key)) }
        await queue.drain()
        #expect(queue.underlyingQueue == nil)
        #expect(seen.events == [nil])
    }

    @Test("Q16: the queue keeps it alive, and lets go of it with itself")
    func itIsKept() async {
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

    @Test("Q16: setting it while operations are in the queue stops the program")
    func settingItWhileBusy() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = suspendedQueue()
            queue.name = "Download queue"
            queue.addOperation {}
            queue.underlyingQueue = DispatchQueue(label: "underlying")
        }
        expect(result, says: "Download queue")
    }

    @Test("B14: the main dispatch queue is refused")
    func theMainDispatchQueueIsRefused() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = OperationQueue()
            queue.name = "Download queue"
            queue.underlyingQueue = DispatchQueue.main
        }
        expect(result, says: "Download queue", "OperationQueue.main")
    }

    @Test("Q14: underlyingQueue can be overridden")
    func itIsOpen() {
        final class Watching: OperationQueue, @unchecked Sendable {
            let sets = Tally()
            override var underlyingQueue: DispatchQueue? { didSet { sets.increment() } }
        }
        let queue = Watching()
        queue.underlyingQueue = nil
        #expect(queue.sets.value == 1)
    }

    @Test("Q16, B14: a busy queue, and the main dispatch queue, throw")
    func anUnderlyingQueueThatCannotBe() async throws {
        let queue = suspendedQueue()
        queue.name = "Download queue"
        let underlying = DispatchQueue(label: "underlying")
        queue.addOperation {}
        let busy = Checked.message { try queue.setUnderlyingQueueChecked(underlying) }
        #expect(busy?.contains("Download queue") == true)
        #expect(queue.underlyingQueue == nil)
        queue.isSuspended = false
        await queue.drain()
        let main = Checked.message { try queue.setUnderlyingQueueChecked(.main) }
        #expect(main?.contains("Download queue") == true)
        try queue.setUnderlyingQueueChecked(underlying)
        #expect(queue.underlyingQueue === underlying)
    }

    @Test("Q16: set while a worker still has what it ran, it gets all that is added then")
    func whatIsAddedBeforeTheWorkerHasLetGo() async {
        let underlying = dispatchQueue()
        let (reached, changed, held) = (Signal(), Signal(), Signal())
        underlying.async { held.wait() }
        let queue = OperationQueue()
        let (gone, seen) = (Tally(), Recorder<Bool>())
        func begin() async -> KeyValueObservation {
            let token = Token(gone)
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
        #expect(await comesTrue { gone.value == 1 })
        held.send()
        await queue.drain()
        #expect(seen.events == [true])
        withExtendedLifetime(observation) {}
    }
}
