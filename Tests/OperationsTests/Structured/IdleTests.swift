import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct IdleTests {

    @Test func firstElementComesAtOnceIfTheQueueIsEmpty() async {
        let queue = OperationQueue()
        var idles = queue.idles.makeAsyncIterator()
        #expect(await idles.next() != nil)
    }

    @Test func laterElementsComeWhenTheQueueIsEmptyAgain() async {
        let (queue, elements) = (OperationQueue(), Tally())
        let gate = UncancellableGate()
        queue.add { await gate.wait() }
        let task = Task {
            for await _ in queue.idles {
                if elements.increment() == 3 { break }
            }
        }
        for _ in 0..<20 { await Task.yield() }
        #expect(elements.value == 0)
        gate.open()
        #expect(await comesTrue { elements.value == 1 })
        for _ in 0..<20 { await Task.yield() }
        #expect(elements.value == 1)
        queue.addBarrierBlock {}
        #expect(await comesTrue { elements.value == 2 })
        queue.addOperation {}
        await task.value
    }

    @Test func idlePeriodsBetweenElementsAreReportedOnce() async {
        let queue = OperationQueue()
        var idles = queue.idles.makeAsyncIterator()
        #expect(await idles.next() != nil)
        for _ in 0..<3 {
            queue.addOperation {}
            await queue.drain()
        }
        #expect(await idles.next() != nil)
        let task = Task { await idles.next() }
        for _ in 0..<20 { await Task.yield() }
        task.cancel()
        #expect(await task.value == nil)
    }

    @Test func cancellingTheTaskEndsTheLoop() async {
        let queue = suspendedQueue()
        queue.addOperation {}
        let task = Task { for await _ in queue.idles {} }
        for _ in 0..<10 { await Task.yield() }
        task.cancel()
        await task.value
        queue.isSuspended = false
        await queue.drain()
    }

    @Test func noIdlePeriodIsMissed() async {
        let (queue, elements) = (OperationQueue(), TestRecorder<Int>())
        let rounds = 2_000 / slowness
        let acknowledged = Signal()
        let task = Task {
            for await _ in queue.idles {
                elements.record(queue.operationCount)
                acknowledged.send()
            }
        }
        await onThread {
            acknowledged.wait()
            for _ in 0..<rounds {
                queue.addOperation {}
                acknowledged.wait()
            }
        }
        task.cancel()
        await task.value
        #expect(elements.events.count == rounds + 1)
    }
}
