import OperationsTestKit
import TestSupport
import Testing

@testable import Operations

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct IdleTests {
    typealias AsyncGate = AsyncOperationTests.AsyncGate

    @Test func theFirstTurnComesAtOnceIfThereIsNothing() async {
        let queue = OperationQueue()
        var idles = queue.idles.makeAsyncIterator()
        #expect(await idles.next() != nil)
    }

    @Test func eachFurtherTurnComesWhenItBecameEmptyAgain() async {
        let (queue, turns) = (OperationQueue(), Tally())
        let gate = AsyncGate()
        queue.add { await gate.wait() }
        let task = Task {
            for await _ in queue.idles {
                if turns.increment() == 3 { break }
            }
        }
        for _ in 0..<20 { await Task.yield() }
        #expect(turns.value == 0)
        gate.open()
        #expect(await comesTrue { turns.value == 1 })
        for _ in 0..<20 { await Task.yield() }
        #expect(turns.value == 1)
        queue.addBarrierBlock {}
        #expect(await comesTrue { turns.value == 2 })
        queue.addOperation {}
        await task.value
    }

    @Test func whatHappenedMeanwhileIsNotMissed() async {
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

    @Test func noTurnIsLost() async {
        let (queue, turns) = (OperationQueue(), Recorder<Int>())
        let rounds = 2_000 / slowness
        let acknowledged = Signal()
        let task = Task {
            for await _ in queue.idles {
                turns.record(queue.operationCount)
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
        #expect(turns.events.count == rounds + 1)
    }
}
