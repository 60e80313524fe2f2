import Operations
import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct OperationQueueTests {
    @Test func widthIsThePropertyOfTheLongName() {
        let queue = OperationQueue(width: 3)
        #expect(queue.width == 3)
        queue.width = 5
        #expect(queue.maxConcurrentOperationCount == 5)
    }

    @Test func descriptionHasNameCountAndSuspension() {
        let queue = OperationQueue()
        queue.name = "net"
        #expect("\(queue)" == "queue 'net' (0 operations)")
        queue.isSuspended = true
        queue.addOperation {}
        #expect("\(queue)" == "queue 'net' (1 operation, suspended)")
        queue.isSuspended = false
    }

    @Test func queueIsMadeWithNameWidthAndOrder() {
        let queue = OperationQueue(name: "uploads", width: 4)
        #expect(queue.name == "uploads" && queue.maxConcurrentOperationCount == 4)
        #expect(OperationQueue(width: 1).maxConcurrentOperationCount == 1)
        #expect(OperationQueue(width: 1).name?.hasPrefix("NSOperationQueue ") == true)
        #expect(OperationQueue(width: 1).order == .priority)
        for order in OperationQueueOrder.allCases {
            #expect(OperationQueue(order: order).order == order)
        }
        let width = OperationQueue(name: "all").maxConcurrentOperationCount
        #expect(width == OperationQueue.defaultMaxConcurrentOperationCount)
    }

    private final class Starting: Operation, @unchecked Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
        override func start() {
            body()
            super.start()
        }
    }

    /// What others are asked for takes a moment; what is ready at once must not overtake them.
    @Test func claimOfSeveralClassesRunsInOrder() async {
        for _ in 0..<200 {
            let queue = OperationQueue(width: 1)
            let order = TestRecorder<Int>()
            let operations = (0..<40).map { index -> Operation in
                switch index % 5 {
                case 0: Starting { order.record(index) }
                case 1: TypedOperation { order.record(index) }
                default: BlockOperation { order.record(index) }
                }
            }
            await queue.addOperations(operations, waitUntilFinished: false)
            await queue.drain()
            #expect(order.events == Array(0..<40))
        }
    }

    private final class Upload: Operation, @unchecked Sendable {
        let runs = Tally()
        override func main() { runs.increment() }
    }

    @Test func addReturnsTheOperationThatItAdds() async throws {
        let queue = OperationQueue(width: 1)
        let upload = queue.add(Upload(), "report", .priority(.high))
        let block = queue.add(BlockOperation {})
        let number = queue.add(TypedOperation { 7 })
        await queue.drain()
        #expect(upload.runs.value == 1 && upload.name == "report")
        #expect(upload.queuePriority == .high && block.isFinished)
        #expect(try await number.value == 7)
    }

    @Test func everyAddedOperationRunsOnce() async {
        let queue = OperationQueue()
        let runs = Tally()
        for _ in 0..<1_000 { queue.addOperation { runs.increment() } }
        await queue.drain()
        #expect(runs.value == 1_000)
        #expect(queue.operationCount == 0)
        #expect(queue.operations == [])
    }

    @Test func operationsAreListedInInsertionOrder() async {
        let queue = suspendedQueue()
        let operations = (0..<20).map { _ in Operation() }
        for operation in operations { queue.addOperation(operation) }
        #expect(queue.operations == operations)
        #expect(queue.operationCount == 20)
        operations[3].cancel()
        await operations[3].waitUntilFinished()
        #expect(queue.operationCount == 19)
        queue.isSuspended = false
        await queue.drain()
    }

    @Test(arguments: [1, 2, 3, 8])
    func widthIsNeverExceeded(width: Int) async {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = width
        let inside = Occupancy()
        for _ in 0..<500 {
            queue.addOperation {
                inside.enter()
                inside.leave()
            }
        }
        await queue.drain()
        #expect(inside.highest <= width)
    }

    /// The operations all wait for each other, so they end only if each of them gets a thread.
    @Test func widthIsReachedEvenIfOperationsBlock() async {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 16
        let arrived = Tally()
        let allArrived = Signal()
        let timedOut = Tally()
        for _ in 0..<16 {
            queue.addOperation {
                if arrived.increment() == 16 {
                    for _ in 0..<16 { allArrived.send() }
                }
                if !allArrived.wait() { timedOut.increment() }
            }
        }
        await queue.drain()
        #expect(timedOut.value == 0)
    }

    @Test func widthZeroStartsNothingUntilRaised() async {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 0
        let operation = Operation()
        queue.addOperation(operation)
        let other = OperationQueue()
        for _ in 0..<100 { other.addOperation {} }
        await other.drain()
        #expect(!operation.isFinished)
        queue.maxConcurrentOperationCount = 1
        await queue.drain()
        #expect(operation.isFinished)
    }

    @Test func widthIsClampedToThirtyTwoBits() {
        let queue = OperationQueue()
        #expect(queue.maxConcurrentOperationCount == -1)
        queue.maxConcurrentOperationCount = .max
        #expect(queue.maxConcurrentOperationCount == Int(Int32.max))
    }

    @Test func serialQueueStartsByPriorityThenInOrder() async {
        let queue = serialQueue()
        queue.isSuspended = true
        let order = TestRecorder<String>()
        for round in 0..<3 {
            for priority in Operation.QueuePriority.allCases {
                let operation = BlockOperation { order.record("\(priority) \(round)") }
                operation.queuePriority = priority
                queue.addOperation(operation)
            }
        }
        queue.isSuspended = false
        await queue.drain()
        let levels: [Operation.QueuePriority] = [.veryHigh, .high, .normal, .low, .veryLow]
        #expect(order.events == levels.flatMap { level in (0..<3).map { "\(level) \($0)" } })
    }

    @Test func changedPriorityGoesBehindEqualPriorities() async {
        let queue = serialQueue()
        queue.isSuspended = true
        let order = TestRecorder<String>()
        let operations = ["a", "b", "c"].map { name in BlockOperation { order.record(name) } }
        operations[2].queuePriority = .high
        for operation in operations { queue.addOperation(operation) }
        operations[0].queuePriority = .high
        operations[1].queuePriority = .low
        operations[1].queuePriority = .high
        queue.isSuspended = false
        await queue.drain()
        #expect(order.events == ["c", "a", "b"])
    }

    @Test func priorityRaisedInsideClaimTakesEffect() async {
        let queue = serialQueue()
        for _ in 0..<2000 { queue.addOperation {} }
        await queue.drain()
        queue.isSuspended = true
        let order = TestRecorder<Int>()
        let last = BlockOperation { order.record(99) }
        queue.addOperation { last.queuePriority = .veryHigh }
        for index in 0..<8 { queue.addOperation { order.record(index) } }
        queue.addOperation(last)
        queue.isSuspended = false
        await queue.drain()
        #expect(order.events.first == 99)
    }

    @Test func unreadyOperationIsOvertakenWhateverItsPriority() async {
        let queue = serialQueue()
        queue.isSuspended = true
        let order = TestRecorder<String>()
        let first = BlockOperation { order.record("dependency") }
        first.queuePriority = .veryLow
        let urgent = BlockOperation { order.record("urgent") }
        urgent.queuePriority = .veryHigh
        urgent.addDependency(first)
        queue.addOperation(urgent)
        queue.addOperation(first)
        queue.isSuspended = false
        await queue.drain()
        #expect(order.events == ["dependency", "urgent"])
    }

    @Test func suspendedQueueStartsNothingButRunningWorkContinues() async {
        let queue = serialQueue()
        let (began, proceed) = (Signal(), Signal())
        let runs = Tally()
        let first = BlockOperation {
            began.send()
            proceed.wait()
            runs.increment()
        }
        queue.addOperation(first)
        let second = BlockOperation { runs.increment() }
        queue.addOperation(second)
        #expect(await began.arrives())
        queue.isSuspended = true
        proceed.send()
        await first.waitUntilFinished()
        #expect(runs.value == 1)
        #expect(queue.operations == [second])
        queue.isSuspended = false
        await queue.drain()
        #expect(runs.value == 2)
    }

    @Test func currentIsQueueOfOperation() async {
        let queue = OperationQueue()
        let seen = TestRecorder<Bool>()
        queue.addOperation {
            seen.record(OperationQueue.current === queue)
            BlockOperation { seen.record(OperationQueue.current === queue) }.start()
            seen.record(OperationQueue.current === queue)
        }
        await queue.drain()
        #expect(seen.events == [true, true, true])
    }

    @Test func addOperationsWaitsOnlyForItsOperations() async {
        let queue = suspendedQueue()
        let blocked = Operation()
        queue.addOperation(blocked)
        let (a, b) = (Operation(), Operation())
        a.cancel()
        b.cancel()
        await queue.addOperations([a, b], waitUntilFinished: true)
        #expect(a.isFinished && b.isFinished && !blocked.isFinished)
        queue.cancelAllOperations()
    }

    @Test func blockInheritsQualityOfServiceAndPassesAddOperation() async {
        final class Watching: OperationQueue, @unchecked Sendable {
            let added = TestRecorder<QualityOfService>()
            override func addOperation(_ operation: Operation) {
                added.record(operation.qualityOfService)
                super.addOperation(operation)
            }
        }
        let queue = Watching()
        queue.qualityOfService = .utility
        queue.addOperation {}
        await queue.addOperations([Operation()], waitUntilFinished: true)
        await queue.drain()
        #expect(queue.added.events == [.utility])
    }

    @Test func namesHaveDefaults() {
        let queue = OperationQueue()
        #expect(queue.name?.hasPrefix("NSOperationQueue 0x") == true)
        queue.name = "Download queue"
        #expect(queue.name == "Download queue")
        #expect(OperationQueue.main.name == "NSOperationQueue Main Queue")
    }

    @Test func mainQueueIgnoresConfiguration() {
        let main = OperationQueue.main
        main.name = "other"
        main.maxConcurrentOperationCount = 5
        main.isSuspended = true
        main.qualityOfService = .background
        #expect(main.name == "NSOperationQueue Main Queue")
        #expect(main.maxConcurrentOperationCount == 1)
        #expect(!main.isSuspended)
        #expect(main.qualityOfService == .userInteractive)
    }

    @Test func mainQueueRunsSeriallyOnMainThread() async {
        let inside = Occupancy()
        let wasCurrent = TestRecorder<Bool>()
        for _ in 0..<20 {
            OperationQueue.main.addOperation {
                inside.enter()
                MainActor.assertIsolated()
                wasCurrent.record(OperationQueue.current === OperationQueue.main)
                inside.leave()
            }
        }
        await OperationQueue.main.drain()
        #expect(inside.highest == 1)
        #expect(wasCurrent.events == Array(repeating: true, count: 20))
    }

    @Test func releasedQueueDrainsAndIsThenFreed() async {
        weak var weakQueue: OperationQueue?
        let operation = Operation()
        let proceed = Signal()
        do {
            let queue = serialQueue()
            weakQueue = queue
            queue.addOperation { proceed.wait() }
            queue.addOperation(operation)
        }
        #expect(weakQueue != nil)
        proceed.send()
        await operation.waitUntilFinished()
        // The worker releases the queue right after the last operation has left.
        #expect(await comesTrue { weakQueue == nil })
    }
}
