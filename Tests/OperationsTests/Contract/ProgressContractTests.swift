import Operations
import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

/// A queue's progress: rows Q20, B16.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct ProgressContractTests {
    @Test("Q20: the progress is inactive until its total is set")
    func progressIsInactiveWithoutATotal() async {
        let queue = OperationQueue()
        for _ in 0..<10 { queue.addOperation {} }
        await queue.drain()
        #expect(queue.progress.totalUnitCount == 0)
        #expect(queue.progress.completedUnitCount == 0)
        queue.progress.totalUnitCount = 2
        for _ in 0..<2 { queue.addOperation {} }
        await queue.drain()
        #expect(queue.progress.completedUnitCount == 2)
    }

    @Test("Q20: each finished operation completes one unit, before waits for it end")
    func finishedOperationCompletesOneUnit() async {
        let queue = serialQueue()
        queue.progress.totalUnitCount = 8
        for round in 1...8 {
            let operation = Operation()
            queue.addOperation(operation)
            await operation.waitUntilFinished()
            #expect(queue.progress.completedUnitCount == Int64(round))
            #expect(queue.progress.fractionCompleted == Double(round) / 8)
        }
    }

    @Test("Q20: an operation cancelled before its main() does not count; one cancelled in it does")
    func operationCancelledBeforeMainDoesNotCount() async {
        let queue = suspendedQueue()
        queue.progress.totalUnitCount = 3
        let cancelled = Operation()
        let stopped = BlockOperation()
        stopped.addExecutionBlock { [unowned stopped] in stopped.cancel() }
        await queue.addOperations([cancelled, stopped, Operation()], waitUntilFinished: false)
        cancelled.cancel()
        queue.isSuspended = false
        await queue.drain()
        #expect(queue.progress.completedUnitCount == 2)
        #expect(queue.progress.fractionCompleted < 1)
        queue.progress.totalUnitCount = 2
        #expect(queue.progress.fractionCompleted == 1)
    }

    @Test("Q20: an asynchronous operation counts when it finishes, not when start() returns")
    func asynchronousOperationCountsWhenItFinishes() async {
        let queue = OperationQueue()
        queue.progress.totalUnitCount = 2
        let gate = UncancellableGate()
        let operation = TypedOperation<Void> { await gate.wait() }
        queue.addOperation(operation)
        await OperationQueue().addOperations(
            (0..<50).map { _ in Operation() }, waitUntilFinished: true)
        #expect(queue.progress.completedUnitCount == 0)
        gate.open()
        await queue.drain()
        #expect(queue.progress.completedUnitCount == 1)
    }

    /// An operation whose `main()` announces its end itself, and goes on.
    private final class EndsInMain: Operation, @unchecked Sendable {
        let mayReturn = Signal()
        private let isOver = Atomic(false)

        override var isFinished: Bool { isOver.load(ordering: .acquiring) }

        override func main() {
            willChangeValue(forKey: "isFinished")
            isOver.store(true, ordering: .releasing)
            didChangeValue(forKey: "isFinished")
            mayReturn.wait()
        }
    }

    @Test("Q20: the end of an operation that main() announces finds the operation counted")
    func announcedEndIsCounted() async {
        let (queue, operation, fractions) = (OperationQueue(), EndsInMain(), TestRecorder<Double>())
        queue.progress.totalUnitCount = 1
        let hasCompleted = Signal()
        operation.completionBlock = {
            fractions.record(queue.progress.fractionCompleted)
            hasCompleted.send()
        }
        queue.addOperation(operation)
        await operation.finished()
        fractions.record(queue.progress.fractionCompleted)
        #expect(await hasCompleted.arrives())
        operation.mayReturn.send()
        #expect(fractions.events == [1, 1])
        await onThread { operation.waitUntilFinished() }
        #expect(queue.progress.completedUnitCount == 1)
    }

    /// Such an operation adds a child of its own to the queue's progress, if it has any progress.
    @Test("Q20: an operation that replaces start() does not count, unless it calls super")
    func operationThatReplacesStartDoesNotCount() async {
        final class Calling: Operation, @unchecked Sendable {
            override func start() { super.start() }
        }
        final class Reporting: StateKeepingOperation, @unchecked Sendable {
            override func main() {
                let own = Progress(totalUnitCount: 2)
                OperationQueue.current?.progress.addChild(own, withPendingUnitCount: 1)
                own.completedUnitCount = 2
                stage = .finished
            }
        }
        let queue = serialQueue()
        queue.progress.totalUnitCount = 3
        let fractions = TestRecorder<Int64>()
        for operation in [DispatchedOperation {}, Reporting(), Calling(), Reporting()] {
            queue.addOperation(operation)
            await operation.finished()
            fractions.record(Int64((queue.progress.fractionCompleted * 3).rounded()))
        }
        await queue.drain()
        #expect(fractions.events == [0, 1, 2, 3])
    }

    @Test("Q20: an operation that another one starts by hand does not count")
    func operationStartedByHandDoesNotCount() async {
        let queue = serialQueue()
        queue.progress.totalUnitCount = 2
        queue.addOperation {
            for inner in [BlockOperation {}, TypedOperation<Void> {}, Operation()] { inner.start() }
        }
        let inner = TypedOperation<Void> { await Task.yield() }
        queue.add {
            inner.start()
            await inner.finished()
        }
        await queue.drain()
        #expect(queue.progress.completedUnitCount == 2)
    }

    @Test("Q20: operations of many threads are all counted, once each")
    func operationsOfManyThreadsCountOnce() async {
        let (queue, share) = (OperationQueue(), max(100, 2_000 / slowness))
        queue.progress.totalUnitCount = Int64(8 * share)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask { for _ in 0..<share { queue.addOperation {} } }
            }
        }
        await queue.drain()
        #expect(queue.progress.completedUnitCount == Int64(8 * share))
        #expect(queue.progress.fractionCompleted == 1)
    }

    @Test("Q20: the first progress made in main() is a child for the operation's unit")
    func progressMadeInMainIsAChild() async {
        let queue = serialQueue()
        queue.progress.totalUnitCount = 2
        let fractions = TestRecorder<Double>()
        queue.addOperation {
            let mine = Progress(totalUnitCount: 4)
            mine.completedUnitCount = 2
            fractions.record(queue.progress.fractionCompleted)
            mine.completedUnitCount = 4
            fractions.record(queue.progress.fractionCompleted)
        }
        queue.addOperation { fractions.record(queue.progress.fractionCompleted) }
        await queue.drain()
        #expect(fractions.events == [0.25, 0.5, 0.5])
        #expect(queue.progress.completedUnitCount == 2)
    }

    @Test("B16: the progress outlives its queue, and can be set and read afterwards")
    func progressOutlivesItsQueue() async {
        weak var weakQueue: OperationQueue?
        let progress: Progress
        do {
            let queue = OperationQueue()
            weakQueue = queue
            progress = queue.progress
            progress.totalUnitCount = 1
            queue.addOperation {}
            await queue.drain()
        }
        #expect(await comesTrue { weakQueue == nil })
        progress.totalUnitCount = 4
        #expect(progress.completedUnitCount == 1)
        #expect(progress.fractionCompleted == 0.25)
    }

    @Test("Q20: the total may be raised inside a barrier, while nothing of the queue runs")
    func totalCanRiseInsideABarrier() async {
        let queue = OperationQueue()
        queue.progress.totalUnitCount = 2
        for _ in 0..<2 { queue.addOperation {} }
        let seen = TestRecorder<Int64>()
        queue.addBarrierBlock {
            seen.record(queue.progress.completedUnitCount)
            queue.progress.totalUnitCount = 4
        }
        for _ in 0..<2 { queue.addOperation {} }
        await queue.drain()
        #expect(seen.events == [2])
        #expect(queue.progress.fractionCompleted == 1)
    }

    @Test("Q14: progress can be overridden")
    func progressCanBeOverridden() {
        final class Watching: OperationQueue, @unchecked Sendable {
            let reads = Tally()
            override var progress: Progress {
                reads.increment()
                return super.progress
            }
        }
        let queue = Watching()
        queue.progress.totalUnitCount = 3
        #expect(queue.progress === queue.progress)
        #expect(queue.reads.value == 3)
    }
}
