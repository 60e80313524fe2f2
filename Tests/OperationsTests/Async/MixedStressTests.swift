import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations

/// Blocks and async bodies in one queue, so that claims have both, and bodies end elsewhere while
/// the rest of their claim waits.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct MixedStressTests {
    /// Everything has one priority, so a queue of width one begins it in the order of addition.
    @Test(arguments: [OperationQueueOrder.priority, .fifo])
    func serialQueueKeepsTheOrderOfAddition(order: OperationQueueOrder) async {
        for round in 0..<1_500 / slowness {
            let queue = OperationQueue(width: 1)
            queue.order = order
            let begun = TestRecorder<Int>()
            let count = 5 + round * 37 % 300
            await onThread {
                for number in 0..<count {
                    if number % 10 == 3 {
                        let turns = number / 10 % 4
                        queue.add {
                            begun.record(number)
                            for _ in 0..<turns { await Task.yield() }
                        }
                    } else {
                        queue.addOperation { begun.record(number) }
                    }
                }
                queue.waitUntilAllOperationsAreFinished()
            }
            guard begun.events == Array(0..<count) else {
                Issue.record("round \(round): \(begun.events)")
                return
            }
        }
    }

    /// Each wait for the queue ends, and the queue is released, however its last entries leave.
    @Test(arguments: [true, false])
    func waitsEndAndQueuesAreReleased(onThreads: Bool) async {
        for round in 0..<4_000 / slowness {
            weak var released: OperationQueue?
            do {
                let queue = OperationQueue()
                released = queue
                let count = 1 + round * 31 % 300
                await withTaskGroup { group in
                    for adder in 0..<2 {
                        group.addTask { await onThread { Self.add(count, adder, to: queue) } }
                    }
                }
                let hasEnded = Tally()
                if onThreads {
                    startTestThread {
                        queue.waitUntilAllOperationsAreFinished()
                        hasEnded.increment()
                    }
                } else {
                    Task.detached {
                        await queue.drain()
                        hasEnded.increment()
                    }
                }
                guard await comesTrue({ hasEnded.value == 1 }) else {
                    Issue.record("round \(round): \(queue.explain())")
                    return
                }
            }
            guard await comesTrue({ released == nil }) else {
                Issue.record("round \(round): the queue is not released")
                return
            }
        }
    }

    private static func add(_ count: Int, _ adder: Int, to queue: OperationQueue) {
        for number in 0..<count / 2 + 1 {
            if (number + adder) % 10 == 3 {
                let turns = number / 10 % 4
                queue.addOperation(
                    TypedOperation<Int> { () async -> Int in
                        for _ in 0..<turns { await Task.yield() }
                        return number
                    })
            } else {
                for _ in 0..<(number % 3 == 0 ? 20 : 1) { queue.addOperation {} }
            }
        }
    }
}
