import Dispatch
import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations

/// Cancelled operations of subclasses that override `start()`: the queue calls the override all the
/// same.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct StartOverrideTests {
    /// Does not check `isCancelled`, like many subclasses.
    private final class Fetch: StateKeepingOperation, @unchecked Sendable {
        private let work: @Sendable () -> Void
        init(_ work: @escaping @Sendable () -> Void) { self.work = work }
        override func start() {
            stage = .executing
            DispatchQueue.global().async { [self] in
                work()
                stage = .finished
            }
        }
    }

    private class OnlyMain: Operation, @unchecked Sendable {
        override func main() {}
        override func cancel() { super.cancel() }
        override var isReady: Bool { super.isReady }
        override var isFinished: Bool { super.isFinished }
    }
    private final class OverridingStart: OnlyMain, @unchecked Sendable {
        override func start() { super.start() }
    }
    private class Generic<Value>: Operation, @unchecked Sendable {
        override func start() {}
    }
    private final class InheritingStart: Generic<Int>, @unchecked Sendable {}
    private class OtherGeneric<Value>: Operation, @unchecked Sendable {}
    private final class Blocks: BlockOperation, @unchecked Sendable {
        override func start() { super.start() }
    }
    private final class Typed: TypedOperation<Int>, @unchecked Sendable {
        override func main() async throws -> Int { 1 }
    }

    @Test func overridesOfStartAreDetected() {
        let replacing: [Operation] = [
            OverridingStart(), Generic<String>(), InheritingStart(), Blocks(),
            StateKeepingOperation(), DispatchedOperation {},
        ]
        let others: [Operation] = [
            Operation(), OnlyMain(), OtherGeneric<Int>(), BlockOperation {}, Typed(),
            TypedOperation { 1 }, TypedOperation<Void> {}, Barrier(block: {}),
            GroupOperation { Operation() },
        ]
        for operation in replacing { #expect(operation.replacesStart, "\(operation)") }
        for operation in others { #expect(!operation.replacesStart, "\(operation)") }
    }

    @Test(
        "Q5: cancelled operations respect the width of their queue",
        arguments: [OperationQueueOrder.priority, .fifo, .lifo])
    func cancelledOperationsRespectWidth(order: OperationQueueOrder) async {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 2
        queue.order = order
        let (inside, started) = (Occupancy(), Tally())
        for _ in 0..<60 {
            queue.addOperation(
                Fetch {
                    inside.enter()
                    started.increment()
                    // Other operations enter meanwhile if the queue starts them.
                    for _ in 0..<200 { _ = inside.now }
                    inside.leave()
                })
        }
        queue.cancelAllOperations()
        await queue.drain()
        #expect(inside.highest <= 2)
        #expect(started.value == 60)
    }

    @Test("Q5: cancelled operations are also started in a queue with aging")
    func cancelledOperationsStartInAgingQueue() async {
        let queue = suspendedQueue()
        queue.maxConcurrentOperationCount = 1
        queue.aging = .seconds(1)
        let started = Tally()
        for _ in 0..<20 { queue.addOperation(Fetch { started.increment() }) }
        queue.cancelAllOperations()
        queue.isSuspended = false
        await queue.drain()
        #expect(started.value == 20)
    }

    /// Reports a state that the queue has not caused. Its `start()` ends it from another thread.
    private final class Early: Operation, @unchecked Sendable {
        let started = Tally()
        private let isOver: Locked<Bool>
        init(isOver: Bool) { self.isOver = Locked(isOver) }
        override var isExecuting: Bool { !isFinished }
        override var isFinished: Bool { isOver.withLock { $0 } }
        override func start() {
            started.increment()
            DispatchQueue.global().async { [self] in
                willChangeValue(forKey: "isFinished")
                isOver.withLock { $0 = true }
                didChangeValue(forKey: "isFinished")
            }
        }
    }

    /// As in Foundation, what an override says before the start does not keep a queue from starting
    /// the operation.
    @Test func reportedStateDoesNotKeepOperationOutOfQueue() async throws {
        for isOver in [false, true] {
            let queue = OperationQueue()
            let ran = Tally()
            let operations = (0..<4).map { _ in Early(isOver: isOver) }
            let dependent = BlockOperation { ran.increment() }
            for operation in operations { dependent.addDependency(operation) }
            queue.addOperation(operations[0])
            try queue.addOperationChecked(operations[1])
            await queue.addOperations([operations[2]], waitUntilFinished: false)
            var graph = OperationGraph()
            graph.add(operations[3])
            try queue.add(graph)
            queue.addOperation(dependent)
            await queue.drain()
            #expect(operations.allSatisfy { $0.started.value == 1 } && ran.value == 1)
        }
    }

    /// The override of `isReady` keeps the queue from starting the operation again.
    @Test func operationStartedByHandEndsInQueue() async throws {
        let queue = OperationQueue()
        let operation = StateKeepingOperation()
        operation.start()
        try queue.addOperationChecked(operation)
        #expect(queue.operations == [operation])
        operation.stage = .finished
        await queue.drain()
        #expect(operation.isFinished)
    }

    @Test("Q4: a suspended queue starts no override, and other cancelled operations leave at once")
    func suspendedQueueDoesNotStartCancelledOperation() async {
        let queue = suspendedQueue()
        let started = Tally()
        let fetch = Fetch { started.increment() }
        let (plain, subclass) = (BlockOperation {}, OnlyMain())
        await queue.addOperations([fetch, plain, subclass], waitUntilFinished: false)
        queue.cancelAllOperations()
        await plain.finished()
        await subclass.finished()
        #expect(started.value == 0 && !fetch.isFinished && queue.operationCount == 1)
        let text = fetch.explain().description
        #expect(text.contains("suspended"), "\(text)")
        queue.isSuspended = false
        await queue.drain()
        #expect(started.value == 1)
    }

    @Test("Q10: a barrier holds back a cancelled operation")
    func barrierHoldsBackCancelledOperation() async {
        let queue = OperationQueue()
        let (started, seen) = (Tally(), TestRecorder<Int>())
        let (began, proceed) = (Signal(), Signal())
        queue.addBarrierBlock {
            began.send()
            proceed.wait()
            seen.record(started.value)
        }
        let fetch = Fetch { started.increment() }
        let subclass = OnlyMain()
        queue.addOperation(fetch)
        queue.addOperation(subclass)
        #expect(await began.arrives())
        fetch.cancel()
        subclass.cancel()
        await subclass.finished()
        proceed.send()
        await queue.drain()
        #expect(seen.events == [0] && started.value == 1)
    }

    @Test("O9, O32: isReady holds back a cancelled operation, and its dependencies do not")
    func cancelledOperationWaitsForIsReadyAlone() async {
        final class Gated: Operation, @unchecked Sendable {
            let (started, opened) = (Tally(), Tally())
            override var isReady: Bool { super.isReady && opened.value > 0 }
            override func start() {
                started.increment()
                super.start()
            }
        }
        let queue = OperationQueue()
        let operation = Gated()
        operation.addDependency(Operation())
        queue.addOperation(operation)
        operation.cancel()
        #expect(operation.started.value == 0)
        operation.opened.increment()
        operation.didChangeValue(forKey: "isReady")
        await queue.drain()
        #expect(operation.started.value == 1 && operation.isCancelled)
    }

    @Test("Q5: a budget does not hold back a cancelled operation")
    func cancelledOperationNeedsNoPermits() async {
        let queue = serialQueue()
        let budget = ConcurrencyBudget(1)
        let (began, proceed, started) = (Signal(), Signal(), Tally())
        let other = OperationQueue()
        other.add(.cost(1, of: budget)) {
            began.send()
            proceed.wait()
        }
        #expect(await began.arrives())
        let fetch = Fetch { started.increment() }
        fetch.apply(.cost(1, of: budget))
        queue.addOperation(fetch)
        fetch.cancel()
        await queue.drain()
        #expect(started.value == 1)
        proceed.send()
        await other.drain()
        #expect(budget.inUse == 0)
    }
}
