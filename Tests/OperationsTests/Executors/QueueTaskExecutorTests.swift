import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct QueueTaskExecutorTests {
    @Test func piecesOfTasksTakeSlots() async {
        let queue = OperationQueue(width: 3)
        let inside = Occupancy()
        await withTaskGroup { group in
            for _ in 0..<100 {
                group.addTask(executorPreference: queue.executor) {
                    for _ in 0..<10 {
                        inside.enter()
                        inside.leave()
                        await Task.yield()
                    }
                }
            }
        }
        await queue.drain()
        #expect(inside.highest <= 3 && inside.highest > 0)
        #expect(queue.operationCount == 0)
    }

    @Test func taskThatAwaitsTakesNoSlot() async throws {
        let queue = OperationQueue(width: 1)
        let (gate, opened) = (AsyncGate(), Tally())
        let waiting = Task(executorPreference: queue.executor) {
            try await gate.wait()
            opened.increment()
        }
        await Task(executorPreference: queue.executor) {}.value
        try await queue.add {}.value
        #expect(opened.value == 0)
        gate.open()
        try await waiting.value
    }

    @Test func pieceIsOperationWithTheNameOfTheExecutor() async throws {
        let queue = OperationQueue(name: "files", width: 1)
        let task = Task.detached {
            await withTaskExecutorPreference(queue.executor(named: "import")) {
                (
                    queue.operations.map(\.name), Operation.current?.name,
                    OperationQueue.current === queue, queue.operations.first?.isExecuting
                )
            }
        }
        let (names, current, isCurrentQueue, isExecuting) = await task.value
        #expect(names == ["import"])
        #expect(current == nil)
        #expect(isCurrentQueue)
        #expect(isExecuting == true)
        let unnamed = Task.detached {
            await withTaskExecutorPreference(queue.executor) {
                queue.operations.map { $0.explain().description }
            }
        }
        #expect(await unnamed.value.first?.contains("a piece of a task") == true)
    }

    @Test func suspendedQueueHoldsTasksBack() async {
        let queue = suspendedQueue()
        let ran = Tally()
        let task = Task(executorPreference: queue.executor) { ran.increment() }
        #expect(await comesTrue { queue.operationCount == 1 })
        #expect(ran.value == 0)
        queue.isSuspended = false
        #expect(await task.value == 1)
    }

    /// A task whose job was dropped would never end.
    @Test func cancellingTheQueueDropsNoJob() async {
        let queue = suspendedQueue()
        let tasks = (0..<50).map { _ in
            Task(executorPreference: queue.executor) {
                await Task.yield()
                return (Task.isCancelled, Operation.isCancelled)
            }
        }
        #expect(await comesTrue { queue.operationCount == 50 })
        queue.cancelAllOperations()
        queue.isSuspended = false
        for task in tasks { #expect(await task.value == (false, false)) }
        await queue.drain()
    }

    @Test func cancellingTheQueueAllTheTimeDropsNoJob() async {
        let queue = OperationQueue(width: 2)
        let isOver = Atomic(false)
        let canceller = Task.detached {
            while !isOver.load(ordering: .relaxed) {
                queue.cancelAllOperations()
                await Task.yield()
            }
        }
        await withTaskGroup { group in
            for _ in 0..<20 {
                group.addTask(executorPreference: queue.executor) {
                    for _ in 0..<100 { await Task.yield() }
                }
            }
        }
        isOver.store(true, ordering: .relaxed)
        await canceller.value
    }

    @Test func cancelledTaskSeesItsCancellation() async {
        let queue = suspendedQueue()
        let task = Task(executorPreference: queue.executor) { Operation.isCancelled }
        task.cancel()
        queue.isSuspended = false
        #expect(await task.value)
    }

    @Test func priorityOfTheTaskOrdersThePieces() async {
        let queue = OperationQueue(width: 1)
        queue.isSuspended = true
        let order = TestRecorder<Int>()
        let executor = queue.executor
        let tasks = [(1, TaskPriority.medium), (2, .high), (3, .medium)].map { number, priority in
            let task = Task.detached(executorPreference: executor, priority: priority) {
                order.record(number)
            }
            return task
        }
        #expect(await comesTrue { queue.operationCount == 3 })
        queue.isSuspended = false
        for task in tasks { await task.value }
        #expect(order.events == [2, 1, 3])
    }

    @Test func piecesMayBlock() async {
        let meeting = Meeting(of: 32)
        let queue = OperationQueue()
        await withTaskGroup { group in
            for _ in 0..<32 {
                group.addTask(executorPreference: queue.executor) { meeting.attend() }
            }
        }
    }

    @Test func defaultActorsRunInTheQueue() async {
        actor Counter {
            var count = 0
            func increment() -> Bool {
                count += 1
                return isOnWorker
            }
        }
        let (queue, counter) = (OperationQueue(width: 2), Counter())
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask(executorPreference: queue.executor) {
                    for _ in 0..<100 { _ = await counter.increment() }
                }
            }
        }
        #expect(await counter.count == 800)
    }

    @Test func executorIsTheSameAndKeepsTheQueue() async throws {
        weak var queue: OperationQueue?
        do {
            let new = OperationQueue(width: 1)
            queue = new
            #expect(new.executor === new.executor)
        }
        #expect(queue == nil)
        let gate = AsyncGate()
        let task = Task(executorPreference: OperationQueue(width: 1).executor) {
            try await gate.wait()
            return OperationQueue.current?.maxConcurrentOperationCount
        }
        gate.open()
        #expect(try await task.value == 1)
    }

    @Test func taskThatWaitsForItsQueueGivesItsSlotBack() async {
        let queue = OperationQueue(name: "serial", width: 1)
        let inner = Task(executorPreference: queue.executor) {
            let operation = queue.add {}
            await operation.finished()
            return operation.isFinished
        }
        #expect(await inner.value)
    }

    @Test func tasksInTheMainQueueRunOnTheMainThread() async {
        let task = Task.detached(executorPreference: OperationQueue.main.executor) {
            MainThread.isCurrent
        }
        #expect(await task.value)
    }

    @Test func schedulerOfTestsRunsThePieces() throws {
        try TestScheduler.explore(schedules: 50) { scheduler in
            let queue = scheduler.makeQueue(width: 1)
            let (inside, ended) = (Occupancy(), Tally())
            for _ in 0..<3 {
                Task(executorPreference: queue.executor) {
                    for _ in 0..<3 {
                        inside.enter()
                        inside.leave()
                        await Task.yield()
                    }
                    ended.increment()
                }
            }
            try scheduler.run()
            try scheduler.check(inside.highest == 1 && ended.value == 3)
        }
    }
}
