import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct SharedValueTests {
    private struct Failure: Error, Equatable {}

    /// Waits until tasks wait for the shared work of the keys, in any order.
    private func waiters(_ count: Int, of queue: OperationQueue) async -> Bool {
        await comesTrue {
            queue.operations.reduce(0) { $0 + $1.withExtras { $0.waiters.count } } == count
        }
    }

    @Test(arguments: [true, false])
    func tasksWithEqualKeysShareOneOperation(isAsync: Bool) async throws {
        let queue = suspendedQueue()
        let runs = Tally()
        let tasks = (0..<20).map { index in
            Task {
                isAsync
                    ? try await queue.sharedValue("even or odd", by: index % 2) {
                        () async throws in runs.increment()
                    }
                    : try await queue.sharedValue("even or odd", by: index % 2) {
                        runs.increment()
                    }
            }
        }
        #expect(await waiters(20, of: queue))
        #expect(queue.operations.map(\.name) == ["even or odd", "even or odd"])
        queue.isSuspended = false
        var values: [Int] = []
        for task in tasks { values.append(try await task.value) }
        #expect(runs.value == 2)
        #expect(Set(values) == [1, 2])
        #expect(zip(values, values.dropFirst(2)).allSatisfy { $0 == $1 })
        #expect(queue.keyedWork.count == 0)
        // A result is not kept.
        #expect(try await queue.sharedValue(by: 0) { runs.increment() } == 3)
    }

    @Test func allTasksGetTheError() async {
        let queue = suspendedQueue()
        let tasks = (0..<3).map { _ in
            Task { try await queue.sharedValue(by: "a") { () throws -> Int in throw Failure() } }
        }
        #expect(await waiters(3, of: queue))
        queue.isSuspended = false
        for task in tasks { await #expect(throws: Failure.self) { try await task.value } }
        #expect(queue.keyedWork.count == 0)
    }

    @Test func cancelledTaskLeavesTheWorkToTheOthers() async throws {
        let queue = OperationQueue()
        let (gate, runs) = (AsyncGate(), Tally())
        let tasks = (0..<3).map { _ in
            Task {
                try await queue.sharedValue(by: "a") { () async throws in
                    try await gate.wait()
                    return runs.increment()
                }
            }
        }
        #expect(await waiters(3, of: queue))
        tasks[0].cancel()
        await #expect(throws: CancellationError.self) { try await tasks[0].value }
        #expect(queue.operations.map(\.isCancelled) == [false])
        gate.open()
        #expect(try await tasks[1].value == 1)
        #expect(try await tasks[2].value == 1)
    }

    @Test func lastCancelledTaskCancelsTheWork() async throws {
        let queue = OperationQueue()
        let (started, stopped) = (Signal(), Signal())
        let tasks = (0..<2).map { _ in
            Task {
                try await queue.sharedValue(by: "a") { () async throws in
                    started.send()
                    do { try await untilCancelled() } catch { stopped.send() }
                }
            }
        }
        #expect(await started.arrives())
        #expect(await waiters(2, of: queue))
        let operation = try #require(queue.operations.first)
        for task in tasks { task.cancel() }
        for task in tasks {
            await #expect(throws: CancellationError.self) { try await task.value }
        }
        #expect(await stopped.arrives())
        await operation.finished()
        #expect(operation.isCancelled)
        #expect(
            "\(operation.cancellationReason ?? .requested)" == "\(CancellationReason.taskCancelled)"
        )
        // The next task with the key starts anew.
        #expect(try await queue.sharedValue(by: "a") { 7 } == 7)
        #expect(queue.keyedWork.count == 0)
    }

    @Test func cancelledTaskAddsNothing() async {
        let queue = suspendedQueue()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await queue.sharedValue(by: "a") { 1 }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(queue.operationCount == 0)
    }

    @Test func workCancelledByOthersIsNotJoined() async throws {
        let queue = suspendedQueue()
        let first = Task { try await queue.sharedValue(by: "a") { 1 } }
        #expect(await waiters(1, of: queue))
        queue.cancelAllOperations()
        let second = Task { try await queue.sharedValue(by: "a") { 2 } }
        queue.isSuspended = false
        await #expect(throws: OperationCancellation.self) { try await first.value }
        #expect(try await second.value == 2)
        #expect(queue.keyedWork.count == 0)
    }

    @Test func workHasTheHighestPriorityOfItsTasks() async throws {
        let queue = suspendedQueue()
        func wait(_ priority: Operation.QueuePriority) -> Task<Int, any Error> {
            Task { try await queue.sharedValue(by: "a", priority: priority) { 1 } }
        }
        let low = wait(.low)
        #expect(await waiters(1, of: queue))
        let operation = try #require(queue.operations.first)
        #expect(operation.queuePriority == .low)
        let high = wait(.veryHigh)
        #expect(await comesTrue { operation.queuePriority == .veryHigh })
        let normal = wait(.normal)
        #expect(await waiters(3, of: queue))
        #expect(operation.queuePriority == .veryHigh)
        high.cancel()
        _ = await high.result
        #expect(operation.queuePriority == .normal)
        queue.isSuspended = false
        #expect(try await low.value == 1)
        #expect(try await normal.value == 1)
    }

    @Test func workInsideABodyFollowsItsPriority() async throws {
        let (outer, inner) = (OperationQueue(), suspendedQueue())
        func wait(_ priority: Operation.QueuePriority) -> Task<Int, any Error> {
            Task {
                try await outer.sharedValue(by: "outer", priority: priority) { () async throws in
                    try await inner.sharedValue(by: "inner") { 1 }
                }
            }
        }
        let low = wait(.low)
        #expect(await waiters(1, of: inner))
        let operation = try #require(inner.operations.first)
        // A priority that the body gave itself is a minimum.
        #expect(operation.queuePriority == .normal)
        let high = wait(.high)
        #expect(await comesTrue { operation.queuePriority == .high })
        high.cancel()
        #expect(await comesTrue { operation.queuePriority == .normal })
        low.cancel()
        await operation.finished()
        #expect(operation.isCancelled)
    }

    /// How the calls of a test end.
    enum Ending: CaseIterable {
        /// All tasks get the value.
        case finished
        /// All tasks are cancelled before the operation begins.
        case cancelled
        /// The operation is cancelled, not the tasks.
        case cancelledByOthers
        /// The queue drops the operation, and the tasks are cancelled.
        case refused
    }

    private final class RefusingQueue: OperationQueue, @unchecked Sendable {
        private let last = Locked<WeakOperation>(WeakOperation())

        private struct WeakOperation { weak var operation: Operation? }

        var refused: Operation? { last.withLock { $0.operation } }

        override func addOperation(_ operation: Operation) {
            last.withLock { $0.operation = operation }
        }
    }

    @Test(arguments: Ending.allCases, [true, false])
    func capturesOfAllCallersAreReleased(_ ending: Ending, isAsync: Bool) async {
        let refusing = RefusingQueue()
        let queue = ending == .refused ? refusing : suspendedQueue()
        let released = Tally()
        let tasks = (0..<20).map { _ in
            Task {
                let token = Token(released)
                _ =
                    isAsync
                    ? try await queue.sharedValue(by: "key") { () async throws in
                        withExtendedLifetime(token) {}
                    }
                    : try await queue.sharedValue(by: "key") { withExtendedLifetime(token) {} }
            }
        }
        if ending == .refused {
            #expect(await comesTrue { refusing.refused?.withExtras { $0.waiters.count } == 20 })
        } else {
            #expect(await waiters(20, of: queue))
        }
        switch ending {
        case .finished: queue.isSuspended = false
        case .cancelledByOthers: queue.cancelAllOperations()
        case .cancelled, .refused: for task in tasks { task.cancel() }
        }
        for task in tasks { _ = await task.result }
        await queue.drain()
        #expect(queue.keyedWork.count == 0)
        #expect(await comesTrue { released.value == 20 })
    }

    @Test func taskThatGoesOnAfterTheBodyDoesNotKeepTheOperation() async throws {
        let queue = OperationQueue()
        let gate = AsyncGate()
        nonisolated(unsafe) weak var operation: Operation?
        let left = try await queue.sharedValue(by: "key") { () async in
            operation = Operation.current
            // This task inherits the body's task-local reference to the shared work.
            return Task { try await gate.wait() }
        }
        #expect(await comesTrue { operation == nil })
        gate.open()
        try await left.value
    }

    /// Tasks come, go and are cancelled at random; each gets its value or was cancelled.
    @Test func manyTasksShareAFewKeys() async {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 3
        let running = TestRecorder<Int>()
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<2_000 {
                group.addTask {
                    let task = Task {
                        try await queue.sharedValue(
                            by: index % 5, priority: index % 3 == 0 ? .high : .low
                        ) { () async throws in
                            await Task.yield()
                            try Task.checkCancellation()
                            return index % 5
                        }
                    }
                    if index % 4 == 0 { task.cancel() }
                    switch await task.result {
                    case .success(let value):
                        if value != index % 5 { running.record(index) }
                    case .failure(let error):
                        if !(error is CancellationError) || index % 4 != 0 { running.record(index) }
                    }
                }
            }
        }
        #expect(running.events == [])
        await queue.finished()
        #expect(queue.keyedWork.count == 0)
    }

    // MARK: Results that are kept

    /// Runs the shared work to its end, in a queue that a test scheduler runs.
    private func value(
        _ key: String, _ scheduler: TestScheduler, _ queue: OperationQueue, _ runs: Tally,
        keepingFor time: Duration? = .seconds(10), failing: Bool = false
    ) async throws -> Int {
        let task = Task {
            try await queue.sharedValue(by: key, keepingFor: time) { () throws -> Int in
                if failing { throw Failure() }
                return runs.increment()
            }
        }
        let isOver = Tally()
        Task {
            _ = await task.result
            isOver.increment()
        }
        let ended = await comesTrue {
            (try? scheduler.runUntilIdle()) != nil && isOver.value == 1
        }
        #expect(ended)
        return try await task.value
    }

    @Test func aResultCanBeKeptForATime() async throws {
        let scheduler = TestScheduler(seed: 1)
        let queue = scheduler.makeQueue()
        let runs = Tally()
        #expect(try await value("a", scheduler, queue, runs) == 1)
        try scheduler.advance(by: .seconds(9))
        #expect(try await value("a", scheduler, queue, runs) == 1)
        #expect(queue.keyedWork.count == 1)
        try scheduler.advance(by: .seconds(1))
        #expect(queue.keyedWork.count == 0)
        #expect(try await value("a", scheduler, queue, runs) == 2)
        try scheduler.advance(by: .seconds(10))
        // Neither errors are kept, nor results for no time.
        await #expect(throws: Failure.self) {
            try await value("b", scheduler, queue, runs, failing: true)
        }
        #expect(queue.keyedWork.count == 0)
        #expect(try await value("c", scheduler, queue, runs, keepingFor: .zero) == 3)
        #expect(queue.keyedWork.count == 0)
    }

    @Test func aKeptResultIsReleasedWhenItsTimeIsOver() async throws {
        final class Picture: Sendable {}
        let queue = OperationQueue()
        weak var kept: Picture?
        for _ in 0..<3 {
            let picture = try await queue.sharedValue(
                by: 1, keepingFor: .milliseconds(30)
            ) { Picture() }
            kept = picture
        }
        #expect(await comesTrue { kept == nil && queue.keyedWork.count == 0 })
    }
}
