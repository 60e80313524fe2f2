import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

/// Operations with the earliest deadline start first.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct DeadlineOrderTests {
    private func adder(
        _ queue: OperationQueue, _ recorder: TestRecorder<String>
    ) -> (String, Int64?, Operation.QueuePriority) -> Operation {
        { name, deadline, priority in
            let operation = BlockOperation { recorder.record(name) }
            operation.queuePriority = priority
            if let deadline { operation.setDeadline(deadline) }
            queue.addOperation(operation)
            return operation
        }
    }

    private func queue() -> OperationQueue {
        let queue = suspendedQueue()
        queue.maxConcurrentOperationCount = 1
        return queue
    }

    @Test func earliestDeadlineGoesFirstWithinPriority() async {
        let (queue, recorder) = (queue(), TestRecorder<String>())
        let add = adder(queue, recorder)
        _ = add("none", nil, .normal)
        _ = add("late", 30, .normal)
        _ = add("early", 10, .normal)
        _ = add("low", 1, .low)
        _ = add("high", nil, .high)
        _ = add("middle", 20, .normal)
        queue.isSuspended = false
        await queue.drain()
        #expect(recorder.events == ["high", "early", "middle", "late", "none", "low"])
    }

    @Test func deadlineCanBeSetAndRemovedInQueue() async {
        let (queue, recorder) = (queue(), TestRecorder<String>())
        let add = adder(queue, recorder)
        let a = add("a", nil, .normal)
        let b = add("b", 5, .normal)
        let c = add("c", nil, .normal)
        _ = add("d", nil, .normal)
        c.setDeadline(1)
        b.setDeadline(nil)
        a.setDeadline(2)
        queue.isSuspended = false
        await queue.drain()
        #expect(recorder.events == ["c", "a", "b", "d"])
    }

    @Test func deadlineSurvivesChangeOfPriority() async {
        let (queue, recorder) = (queue(), TestRecorder<String>())
        let add = adder(queue, recorder)
        _ = add("high", nil, .high)
        let moved = add("moved", 5, .normal)
        moved.queuePriority = .high
        queue.isSuspended = false
        await queue.drain()
        #expect(recorder.events == ["moved", "high"])
    }

    /// The ring compacts its operations while one operation stays at its head.
    @Test func deadlineSurvivesRenumbering() async {
        let (queue, recorder) = (queue(), TestRecorder<String>())
        let add = adder(queue, recorder)
        let key = Operation()
        let head = BlockOperation {}
        head.addDependency(key)
        queue.addOperation(head)
        let early = add("early", 10, .veryLow)
        let late = add("late", 20, .veryLow)
        early.addDependency(key)
        let capacity = queue.snapshot { $0.ring.capacity }
        var leaving: [Operation] = []
        for _ in 0..<4 * capacity {
            let operation = BlockOperation {}
            leaving.append(operation)
            queue.addOperation(operation)
            operation.cancel()
            await operation.waitUntilFinished()
        }
        #expect(queue.snapshot { $0.ring.capacity } == capacity)
        #expect(early.place > capacity && late.place == early.place + 1)
        key.start()
        queue.isSuspended = false
        await queue.drain()
        #expect(recorder.events == ["early", "late"])
    }

    /// Workers claim several short operations at once.
    @Test func operationWithDeadlineOvertakesClaimedClaim() async {
        let queue = serialQueue()
        queue.claimsSeveral()
        queue.isSuspended = true
        let recorder = TestRecorder<String>()
        queue.addOperation {
            recorder.record("adds")
            let urgent = BlockOperation { recorder.record("urgent") }
            urgent.setDeadline(1)
            queue.addOperation(urgent)
        }
        for number in 0..<20 { queue.addOperation { recorder.record("\(number)") } }
        queue.isSuspended = false
        await queue.drain()
        #expect(recorder.events.prefix(2) == ["adds", "urgent"])
    }

    @Test func threadsMaySetDeadlinesWhileOthersAdd() async {
        let count = 10_000 / slowness
        let queue = OperationQueue()
        let runs = Tally()
        let operations = (0..<count).map { _ in BlockOperation { runs.increment() } }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for operation in operations { queue.addOperation(operation) } }
            for offset in 0..<2 {
                group.addTask {
                    for (index, operation) in operations.enumerated() {
                        operation.setDeadline(Int64(index % (3 + offset)))
                    }
                }
            }
        }
        await queue.drain()
        #expect(runs.value == count)
        #expect(
            queue.snapshot { $0.ready.rescheduled.isEmpty && !$0.ready.rescheduled.hasDeadlines })
    }
}
