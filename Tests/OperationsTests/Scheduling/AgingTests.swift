import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

/// Operations that count for more the longer they wait.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct AgingTests {
    private final class Barely: BlockOperation, @unchecked Sendable {}

    private struct Line {
        let steps = StepQueue()
        let recorder = TestRecorder<String>()

        init(order: OperationQueueOrder = .priority, aging: Int64? = 10) {
            steps.queue.order = order
            steps.queue.aging = aging.map { .nanoseconds($0) }
        }

        @discardableResult
        func add(_ name: String, _ priority: Operation.QueuePriority) -> Operation {
            let operation = BlockOperation { [recorder] in recorder.record(name) }
            operation.queuePriority = priority
            steps.queue.addOperation(operation)
            return operation
        }

        func next() -> String? {
            steps.step()
            return recorder.events.last
        }
    }

    /// The clock starts at a multiple of the span.
    @Test(arguments: [0, 4, 9] as [Int64])
    func priorityRisesAtEachMultipleOfTheSpan(readyAt: Int64) {
        let line = Line()
        line.steps.clock.advance(by: readyAt)
        line.add("low", .low)
        line.steps.clock.advance(by: 9 - readyAt)
        line.add("first normal", .normal)
        #expect(line.next() == "first normal")
        line.steps.clock.advance(by: 1)
        line.add("second normal", .normal)
        // As high, and added before.
        #expect(line.next() == "low")
        #expect(line.next() == "second normal")
    }

    @Test(arguments: [0, 4, 9] as [Int64])
    func allOperationsRiseAtTheSameTimes(readyAt: Int64) {
        let line = Line()
        line.steps.clock.advance(by: readyAt)
        line.add("very low", .veryLow)
        line.steps.clock.advance(by: 19 - readyAt)
        line.add("low", .low)
        line.add("first normal", .normal)
        // By now the operation of very low priority is at the level of the low one.
        #expect(line.next() == "first normal")
        #expect(line.next() == "very low")
        line.steps.clock.advance(by: 1)
        line.add("second normal", .normal)
        #expect(line.next() == "low")
        #expect(line.next() == "second normal")
    }

    @Test func agedPriorityHasNoUpperBound() {
        let line = Line(order: .lifo)
        line.add("old", .veryLow)
        line.steps.clock.advance(by: 40)
        line.add("new", .veryHigh)
        // As high, but not the last.
        #expect(line.next() == "new")
        line.steps.clock.advance(by: 10)
        line.add("newer", .veryHigh)
        #expect(line.next() == "old")
        #expect(line.next() == "newer")
    }

    @Test(arguments: [OperationQueueOrder.priority, .lifo])
    func lowPriorityDoesNotStarve(order: OperationQueueOrder) {
        let line = Line(order: order)
        line.add("patient", .veryLow)
        var steps = 0
        repeat {
            steps += 1
            line.add("new", .veryHigh)
            line.steps.clock.advance(by: 1)
        } while line.next() != "patient" && steps < 1_000
        #expect(steps < 100)
        let without = Line(order: order, aging: nil)
        // Operations that are not plain are claimed one by one.
        let patient = Barely { [recorder = without.recorder] in recorder.record("patient") }
        patient.queuePriority = .veryLow
        without.steps.queue.addOperation(patient)
        for _ in 0..<100 {
            without.add("new", .veryHigh)
            without.steps.clock.advance(by: 1)
            #expect(without.next() == "new")
        }
        without.steps.step()
    }

    @Test func deadlinesDoNotStarveOtherOperations() {
        let line = Line()
        line.add("patient", .normal)
        var steps = 0
        repeat {
            steps += 1
            line.add("new", .normal).setDeadline(1)
            line.steps.clock.advance(by: 1)
        } while line.next() != "patient" && steps < 1_000
        #expect(steps < 100)
        while line.steps.queue.operationCount > 0 { line.steps.step() }
    }

    @Test func agingBeginsWithReadinessEvenBehindBarriers() {
        let line = Line()
        let first = line.add("first", .veryHigh)
        line.steps.queue.addBarrierBlock { [recorder = line.recorder] in recorder.record("barrier")
        }
        line.add("old", .low)
        let key = Operation()
        let waits = BlockOperation { [recorder = line.recorder] in recorder.record("waits") }
        waits.queuePriority = .low
        waits.addDependency(key)
        line.steps.queue.addOperation(waits)
        line.steps.clock.advance(by: 15)
        key.start()
        line.add("normal", .normal)
        line.add("high", .high)
        #expect(line.next() == "first" && first.isFinished)
        #expect(line.next() == "barrier")
        #expect(line.next() == "high")
        #expect(line.next() == "old")
        #expect(line.next() == "normal")
        #expect(line.next() == "waits")
    }

    @Test func clockThatGoesBackCountsAsStopped() {
        let line = Line()
        line.add("low", .low)
        line.steps.clock.advance(by: -500)
        line.add("normal", .normal)
        #expect(line.next() == "normal")
        line.steps.clock.advance(by: 520)
        line.add("late", .normal)
        #expect(line.next() == "low")
        #expect(line.next() == "late")
    }

    @Test func agingWorksWithRealTimeAndWorkers() async {
        let queue = OperationQueue()
        queue.aging = .nanoseconds(1)
        let (runs, count) = (Tally(), 20_000 / slowness)
        for index in 0..<count {
            let operation = BlockOperation { runs.increment() }
            operation.queuePriority = .init(lane: index % 5)
            queue.addOperation(operation)
        }
        await queue.drain()
        #expect(runs.value == count)
        #expect(queue.aging == .nanoseconds(1))
    }

    /// A long queue: each claim costs a few steps and not one for each operation.
    @Test func claimIsFastWithManyReadyOperations() async {
        let queue = suspendedQueue()
        queue.maxConcurrentOperationCount = 1
        queue.aging = .microseconds(50)
        let (runs, count) = (Tally(), 300_000 / slowness)
        for index in 0..<count {
            let operation = BlockOperation { runs.increment() }
            operation.queuePriority = .init(lane: index % 5)
            queue.addOperation(operation)
        }
        queue.isSuspended = false
        await queue.drain()
        #expect(runs.value == count)
    }
}
