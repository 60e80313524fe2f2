import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

/// Queues that drop operations when they are full.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct OverflowTests {
    private func names(_ queue: OperationQueue) -> [String] {
        queue.operations.filter { !$0.isCancelled }.compactMap(\.name)
    }

    @Test func theOldestThatWaitsIsDropped() async throws {
        let queue = suspendedQueue()
        queue.overflow = .dropOldest(capacity: 2)
        let operations = (1...4).map { number in queue.add("\(number)") { number } }
        #expect(names(queue) == ["3", "4"])
        #expect(operations[0].isCancelled && operations[1].isCancelled)
        guard case .displaced(capacity: 2)? = operations[0].cancellationReason else {
            Issue.record("\(String(describing: operations[0].cancellationReason))")
            return
        }
        #expect(
            operations[0].cancellationReason?.description == "its queue held 2 operations already")
        await operations[0].finished()
        queue.isSuspended = false
        #expect(try await operations[3].value == 4)
        await #expect(throws: OperationCancellation.self) { try await operations[1].value }
    }

    @Test func theNewestIsDropped() async throws {
        let queue = suspendedQueue()
        queue.overflow = .dropNewest(capacity: 2)
        let operations = (1...4).map { number in queue.add("\(number)") { number } }
        #expect(names(queue) == ["1", "2"])
        await operations[3].finished()
        // What was dropped does not count, whether it has left or not.
        operations[0].cancel()
        await operations[0].finished()
        await operations[2].finished()
        let late = queue.add("late") {}
        #expect(!late.isCancelled)
        queue.isSuspended = false
        await queue.drain()
        #expect(operations.map(\.isCancelled) == [true, false, true, true])
    }

    @Test func whatHasBegunGoesOn() async throws {
        let queue = OperationQueue(width: 1)
        queue.overflow = .dropOldest(capacity: 1)
        let gate = AsyncGate()
        let began = Signal()
        let first = queue.add("first") { () async throws in
            began.send()
            try await gate.wait()
        }
        #expect(await began.arrives())
        let second = queue.add("second") {}
        #expect(second.isCancelled, "nothing waits that could go instead")
        gate.open()
        try await first.value
        await second.finished()
        #expect(!first.isCancelled)
    }

    @Test(arguments: [OperationQueueOverflow.dropOldest(capacity: 3), .dropNewest(capacity: 3)])
    func everyWayOfAddingObeys(overflow: OperationQueueOverflow) async {
        let queue = suspendedQueue()
        queue.addOperation {}
        queue.overflow = overflow
        queue.addOperation {}
        queue.addOperation(BlockOperation {})
        await queue.addOperations(
            (1...5).map { _ in BlockOperation {} }, waitUntilFinished: false)
        queue.addBarrierBlock {}
        #expect(queue.operations.count { !$0.isCancelled } == 3)
        #expect(queue.snapshot { $0.limits!.expectedCount == 0 })
        queue.isSuspended = false
        await queue.drain()
        #expect(queue.snapshot { $0.limits!.droppedCount == 0 })
        // The limit holds from the next addition on, and ends at once.
        queue.isSuspended = true
        queue.overflow = nil
        for _ in 1...5 { queue.addOperation {} }
        queue.overflow = overflow
        #expect(queue.operations.count { !$0.isCancelled } == 5)
        queue.cancelAllOperations()
    }

    @Test func listsKeepTheLastOnes() async {
        let queue = suspendedQueue()
        queue.overflow = .dropOldest(capacity: 3)
        let operations = (1...10).map { number in
            let operation = BlockOperation {}
            operation.name = "\(number)"
            return operation
        }
        await queue.addOperations(operations, waitUntilFinished: false)
        #expect(names(queue) == ["8", "9", "10"])
        queue.cancelAllOperations()
    }

    @Test func piecesOfTasksAreNeverDropped() async throws {
        let queue = suspendedQueue()
        queue.overflow = .dropOldest(capacity: 1)
        let tasks = (1...5).map { number in
            Task(executorPreference: queue.executor) { number }
        }
        #expect(await comesTrue { queue.operationCount == 5 })
        let dropped = queue.add {}
        #expect(dropped.isCancelled)
        queue.isSuspended = false
        for (number, task) in zip(1..., tasks) { #expect(await task.value == number) }
    }

    /// Threads add at the same time, and workers start at the same time: there are never too many,
    /// and no more is dropped than must be.
    @Test(arguments: [true, false])
    func theLimitHoldsForManyThreads(dropsOldest: Bool) async {
        let queue = OperationQueue(width: 2)
        let capacity = 8
        queue.overflow =
            dropsOldest ? .dropOldest(capacity: capacity) : .dropNewest(capacity: capacity)
        let (ran, dropped, most) = (Tally(), Tally(), Occupancy())
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<2_000 {
                        let operation = TypedOperation {
                            most.enter()
                            ran.increment()
                            most.leave()
                        }
                        queue.addOperation(operation)
                        if operation.isCancelled { dropped.increment() }
                        let live = queue.snapshot { state in
                            state.operations().count {
                                state.limits?.isDropped($0) == false
                            }
                        }
                        #expect(live <= capacity)
                    }
                }
            }
        }
        await queue.drain()
        #expect(ran.value >= capacity)
        if !dropsOldest { #expect(ran.value + dropped.value == 8_000) }
        #expect(
            queue.snapshot {
                $0.limits!.droppedCount == 0 && $0.limits!.expectedCount == 0
            })
    }

    @Test func nothingIsDroppedWhileThereIsRoom() async {
        let queue = OperationQueue(width: 1)
        queue.overflow = .dropNewest(capacity: 1)
        for _ in 0..<2_000 {
            let operation = queue.add {}
            #expect(!operation.isCancelled)
            await operation.finished()
        }
    }

    /// An addition that is refused as a mistake has no effect, and leaves nothing behind.
    @Test func mistakesChangeNothing() async {
        let (queue, other) = (suspendedQueue(), suspendedQueue())
        queue.overflow = .dropNewest(capacity: 1)
        queue.progressCountsAdditions = true
        let elsewhere = BlockOperation {}
        other.addOperation(elsewhere)
        queue.addOperation {}
        #expect(throws: OperationMisuse.self) { try queue.addOperationChecked(elsewhere) }
        #expect(!elsewhere.isCancelled)
        let budget = ConcurrencyBudget(1)
        let costly = BlockOperation {}
        costly.apply(.cost(2, of: budget))
        queue.cancelAllOperations()
        queue.isSuspended = false
        await queue.drain()
        #expect(throws: OperationMisuse.self) { try queue.addOperationChecked(costly) }
        #expect(
            queue.snapshot {
                $0.limits!.expectedCount == 0 && $0.limits!.droppedCount == 0
            })
        #expect(queue.progress.totalUnitCount == 1)
        // Nor has it an effect on the others, or on itself, where there is no room.
        queue.isSuspended = true
        let waiting = queue.add {}
        queue.overflow = .dropOldest(capacity: 1)
        #expect(throws: OperationMisuse.self) { try queue.addOperationChecked(costly) }
        #expect(!waiting.isCancelled && !costly.isCancelled)
        await queue.shutDown(grace: .zero)
        #expect(throws: OperationMisuse.self) { try queue.addOperationChecked(costly) }
        #expect(!costly.isCancelled)
        other.cancelAllOperations()
    }

    @Test func additionsThatAskForCapacityLearnOfTheLimit() async throws {
        let queue = suspendedQueue()
        queue.overflow = .dropNewest(capacity: 2)
        #expect(queue.tryAdd(capacity: 10) {} != nil && queue.tryAdd(capacity: 10) {} != nil)
        #expect(queue.tryAdd(capacity: 10) {} == nil)
        await #expect(throws: OperationQueueFull.self) {
            try await queue.add(capacity: 10, within: .zero) {}
        }
        queue.overflow = .dropOldest(capacity: 2)
        #expect(queue.tryAdd(capacity: 10) {} != nil)
        queue.cancelAllOperations()
    }

    /// An operation that ends by itself when it is cancelled.
    private final class Ending: Operation, @unchecked Sendable {
        private let isOver = Tally()
        override var isFinished: Bool { isOver.value > 0 }
        override func cancel() {
            super.cancel()
            willChangeValue(forKey: "isFinished")
            isOver.increment()
            didChangeValue(forKey: "isFinished")
        }
    }

    @Test func whatEndsByItselfWhenItIsCancelledCountsAsAdded() async throws {
        let queue = suspendedQueue()
        queue.progressCountsAdditions = true
        queue.overflow = .dropNewest(capacity: 1)
        queue.addOperation {}
        let (first, second, third) = (Ending(), Ending(), Ending())
        queue.addOperation(first)
        try queue.addOperationsChecked([second])
        queue.isSuspended = false
        await queue.drain()
        await queue.shutDown(grace: .zero)
        queue.addOperation(third)
        for operation in [first, second, third] { #expect(operation.isFinished) }
        #expect(
            queue.snapshot {
                $0.limits!.rejectedCount == 0 && $0.limits!.droppedCount == 0
            })
        #expect(queue.progress.completedUnitCount == 4 && queue.progress.totalUnitCount == 4)
    }

    @Test(arguments: [OperationQueueOverflow.dropOldest(capacity: 3), .dropNewest(capacity: 3)])
    func aGraphThatHasBegunIsDoneToItsEnd(overflow: OperationQueueOverflow) async throws {
        let queue = OperationQueue()
        queue.overflow = overflow
        let ran = Tally()
        var graph = BlockGraph()
        for _ in 0..<40 { graph.add { ran.increment() } }
        let run = try queue.add(graph)
        await run.finished()
        #expect(!run.isCancelled && ran.value == 40)
        await queue.drain()
        #expect(queue.snapshot { $0.limits!.exemptCount == 0 })
    }

    /// The same if the queue gets its limit only then.
    @Test func aLimitThatIsSetLaterDropsNoNodes() async throws {
        let queue = OperationQueue(width: 2)
        let (ran, begun, gate) = (Tally(), Signal(), AsyncGate())
        var graph = BlockGraph()
        // A graph with an async body runs as operations.
        let first = graph.add {
            begun.send()
            try await gate.wait()
        }
        for _ in 0..<10 { graph.add(after: first) { ran.increment() } }
        let run = try queue.add(graph)
        await #expect(begun.arrives())
        queue.overflow = .dropOldest(capacity: 2)
        let late = queue.add {}
        #expect(late.isCancelled)
        gate.open()
        await run.finished()
        #expect(!run.isCancelled && ran.value == 10)
        await queue.drain()
        #expect(queue.snapshot { $0.limits!.exemptCount == 0 })
    }

    /// Who has reserved capacity gets it, and others count the reservation.
    @Test func reservationsCount() async throws {
        let queue = suspendedQueue()
        queue.overflow = .dropNewest(capacity: 2)
        let place = try await queue.acquireCapacity(below: 2)
        queue.add {}
        let late = queue.add {}
        #expect(late.isCancelled)
        let operation = BlockOperation {}
        place.add(operation)
        #expect(!operation.isCancelled)
        queue.cancelAllOperations()
    }

    @Test func aLimitOfNothingIsRefused() async {
        await #expect(processExitsWith: .failure) {
            _ = OperationQueueOverflow.dropOldest(capacity: 0)
        }
    }
}
