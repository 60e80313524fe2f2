import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct AsyncRunnerTests {
    /// A prepared task may be given further work before it has taken what it has.
    @Test func preparedTaskPerformsAllWorkInOrder() async {
        let task = PreparedTask(mayBeDriven: false)
        let record = Locked([Int]())
        task.run(isLast: false) {
            for number in 1...3 {
                task.run(isLast: false) { record.withLock { $0.append(number) } }
            }
            task.run(nil)
        }
        await task.task?.value
        #expect(record.withLock { $0 } == [1, 2, 3])
    }

    @Test(arguments: Place.allCases)
    func eachBodySeesItsOwnOperationAndCancellation(_ place: Place) async throws {
        let queue = serialQueue()
        queue.isSuspended = true
        let operations = await place.make {
            (0..<200).map { index in
                queue.add("\(index)") { () async throws -> Bool in
                    let name = Operation.current?.name
                    if index % 7 == 3 { await Task.yield() }
                    let isOwn = Operation.current?.name == name && name == "\(index)"
                    if index % 5 == 2 {
                        Operation.current?.cancel()
                        return isOwn && Task.isCancelled
                    }
                    return isOwn && !Task.isCancelled
                }
            }
        }
        queue.isSuspended = false
        await queue.drain()
        for (index, operation) in operations.enumerated() where index % 5 != 2 {
            #expect(try operation.result)
        }
        #expect(operations.filter(\.isCancelled).count == 40)
    }

    @Test(arguments: Place.allCases)
    func cancelAllReachesTheTasks(_ place: Place) async {
        let queue = OperationQueue()
        let began = Tally()
        let operations = await place.make {
            (0..<4).map { _ in
                queue.add {
                    began.increment()
                    try await untilCancelled()
                }
            }
        }
        #expect(await comesTrue { began.value > 0 })
        queue.cancelAllOperations()
        await queue.drain()
        #expect(operations.allSatisfy { $0.isCancelled && $0.isFinished })
    }

    @Test(arguments: Place.allCases)
    func suspendedBodyKeepsItsSlot(_ place: Place) async {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 3
        let inside = Occupancy()
        await place.make {
            for index in 0..<600 {
                queue.add {
                    inside.enter()
                    for _ in 0..<index % 3 { await Task.yield() }
                    inside.leave()
                }
            }
        }
        await queue.drain()
        #expect(inside.highest <= 3)
    }

    @Test(arguments: Place.allCases)
    func chainOfSyncAndAsyncBodiesPassesResultsOn(_ place: Place) async throws {
        let queue = OperationQueue()
        let count = 20_000 / slowness
        let latest = await place.make {
            var latest = queue.add { 0 }
            for index in 0..<count {
                switch index % 3 {
                case 0: latest = queue.add(after: latest) { $0 + 1 }
                case 1:
                    let step: @Sendable (Int) async -> Int = { $0 + 1 }
                    latest = queue.add(after: latest, body: step)
                default:
                    latest = queue.add(after: latest) { number in
                        if number % 10 == 0 { await Task.yield() }
                        return number + 1
                    }
                }
            }
            return latest
        }
        #expect(try await latest.value == count)
    }

    /// The test cancels operations at any moment. The operation after a cancelled one must not be
    /// affected.
    @Test(arguments: Place.allCases)
    func lateCancellationDoesNotAffectTheNextOperation(_ place: Place) async throws {
        for _ in 0..<(300 / slowness) {
            let queue = serialQueue()
            queue.isSuspended = true
            let operations = await place.make {
                (0..<20).map { _ in
                    queue.add { () async throws -> Bool in !Task.isCancelled }
                }
            }
            queue.isSuspended = false
            for index in stride(from: 0, to: 20, by: 2) { operations[index].cancel() }
            await queue.drain()
            for index in stride(from: 1, to: 20, by: 2) {
                #expect(try operations[index].result)
            }
        }
    }

    /// A runner stays with its worker, from one queue to the next, until a body suspends and keeps
    /// the runner.
    @Test(arguments: Place.allCases)
    func runnerServesSeveralQueuesInTurn(_ place: Place) async throws {
        let queues = (0..<4).map { _ in OperationQueue() }
        let wrong = Tally()
        for round in 0..<(200 / slowness) {
            await place.make {
                for index in 0..<40 {
                    let queue = queues[(index + round) % 4]
                    queue.add {
                        if OperationQueue.current !== queue { wrong.increment() }
                        if index % 3 == 0 { await Task.yield() }
                        if OperationQueue.current !== queue { wrong.increment() }
                    }
                }
            }
            for queue in queues { await queue.drain() }
        }
        #expect(wrong.value == 0)
    }

    @TaskLocal static var value = 0

    /// A runner made on behalf of one body must not pass the task-local values of that body to
    /// others.
    @Test func runnersInheritNoTaskLocalValues() async throws {
        let queue = OperationQueue()
        let seen = await onThread { () -> [TypedOperation<Int>] in
            (0..<100).map { index in
                queue.add { () async throws -> Int in
                    try await Self.$value.withValue(index + 1) {
                        // This operation is made by a thread that runs a task at this moment.
                        let inner = queue.add { () async throws -> Int in Self.value }
                        return try await inner.value == index + 1 ? Self.value : -1
                    }
                }
            }
        }
        for (index, operation) in seen.enumerated() {
            #expect(try await operation.value == index + 1)
        }
        let after = await onThread { queue.add { () async throws -> Int in Self.value } }
        #expect(try await after.value == 0)
    }

    /// Either the cancellation of the previous body or the end of that body comes first.
    @Test(arguments: [true, false])
    func cancelledTaskRunsNoOtherBody(isCancelledBefore: Bool) async {
        let word = TaskWord(isAsync: true)
        await Task {
            let body = AsyncBody(on: nil)
            body.begin()
            let cancel = {
                if case .body(let found) = word.find({ $0.markCancelled() }) {
                    found.cancelMarked()
                }
            }
            word.begin(.passUnretained(body))
            if isCancelledBefore { cancel() }
            word.end(.passUnretained(body))
            #expect(body.isMarkedCancelled == isCancelledBefore)
            cancel()
            #expect(Task.isCancelled == isCancelledBefore)
            body.end()
        }.value
    }

    @Test func bodiesAreReleased() async throws {
        weak var token: Tally?
        let queue = OperationQueue()
        let operation: TypedOperation<Int>
        do {
            let counter = Tally()
            token = counter
            operation = queue.add {
                await Task.yield()
                return counter.value
            }
        }
        #expect(try await operation.value == 0)
        #expect(await comesTrue { token == nil })
    }

    /// Some of the setups give each operation a task of its own.
    @Test(arguments: Place.allCases, Setup.allCases)
    func bodyThatNeverSuspendsIsCancelled(_ place: Place, _ setup: Setup) async throws {
        let queue = OperationQueue()
        if setup == .watched { queue.beginEvents(for: .statistics) }
        let (began, end) = (Signal(), TestEnd())
        let operation = await place.make { () -> TypedOperation<Bool> in
            let operation = TypedOperation { () async throws -> Bool in
                began.send()
                while !Task.isCancelled, !end.hasCome {}
                // The result of a cancelled operation is dropped.
                #expect(Task.isCancelled)
                return true
            }
            switch setup {
            case .withLimit: operation.apply(.timeout(.seconds(3600)))
            case .withQuality: operation.qualityOfService = .utility
            case .watched, .shared, .startedByHand: break
            }
            if setup == .startedByHand {
                // Start the operation on a thread that the tests' own tasks do not need.
                startTestThread { operation.start() }
            } else {
                queue.addOperation(operation)
            }
            return operation
        }
        // Cancel at once, and not when the test gets its turn among all others: the operation holds
        // a worker until then.
        await onThread {
            began.wait()
            operation.cancel()
        }
        await operation.waitUntilFinished()
    }

    enum Setup: CaseIterable {
        case shared, watched, withQuality, withLimit, startedByHand
    }

    @Test(arguments: Place.allCases)
    func operationStartedByHandInABodyIsCurrent(_ place: Place) async {
        let queue = OperationQueue()
        let seen = TestRecorder<String?>()
        let recordCurrent: @Sendable () -> Void = { seen.record(Operation.current?.name) }
        let outer = await place.make {
            queue.add("outer") { () async in
                for name in ["before", "after"] {
                    let block = BlockOperation(block: recordCurrent)
                    block.name = name
                    block.start()
                    recordCurrent()
                    await Task.yield()
                }
                let inner = TypedOperation<Void> { () async in
                    recordCurrent()
                    await Task.yield()
                    recordCurrent()
                }
                inner.name = "async"
                inner.start()
                await inner.waitUntilFinished()
                recordCurrent()
            }
        }
        await outer.waitUntilFinished()
        #expect(
            seen.events == ["before", "outer", "after", "outer", "async", "async", "outer"])
    }

    private actor Visited {
        var visits = 0
        func visit() { visits += 1 }
    }

    /// The bodies mix code that may leave its thread with code that does not. No operation may be
    /// lost or run twice.
    @Test(arguments: Place.allCases)
    func eachBodyRunsOnceWhateverItDoes(_ place: Place) async {
        let queues = (0..<3).map { _ in OperationQueue() }
        queues[1].maxConcurrentOperationCount = 1
        let visited = Visited()
        let count = 6_000 / slowness
        let (runs, ends, wrong) = (Tally(), Tally(), Tally())
        let operations = await place.make {
            (0..<count).map { index in
                let queue = queues[index % 3]
                let operation = TypedOperation<Void> { () async throws in
                    runs.increment()
                    let isOwn = { Operation.current?.name == "\(index)" }
                    if !isOwn() { wrong.increment() }
                    switch index % 10 {
                    case 0: await Task.yield()
                    case 1: await visited.visit()
                    case 2: await MainActor.run {}
                    case 3: Operation.current?.cancel()
                    case 4: withUnsafeCurrentTask { $0?.cancel() }
                    case 5:
                        let inner = TypedOperation<Void> { () async in await Task.yield() }
                        if index % 3 == 0 { queues[2].addOperation(inner) } else { inner.start() }
                        await inner.waitUntilFinished()
                    case 6: await withTaskGroup { $0.addTask { await Task.yield() } }
                    // This sleep waits for no event: it is a suspension that a timer ends.
                    case 7: try await Task.sleep(for: .microseconds(50))
                    case 8: BlockOperation {}.start()
                    default: if Task.isCancelled, index % 13 != 0 { wrong.increment() }
                    }
                    if !isOwn() { wrong.increment() }
                }
                operation.name = "\(index)"
                operation.completionBlock = { ends.increment() }
                queue.addOperation(operation)
                if index % 13 == 0 { operation.cancel() }
                return operation
            }
        }
        for queue in queues { await queue.drain() }
        #expect(await comesTrue { ends.value == count })
        #expect(wrong.value == 0 && runs.value <= count)
        for operation in operations where !operation.isCancelled {
            #expect(operation.isFinished && operation.error == nil)
        }
    }

    /// Inside a scope, a runner has the task-local values of the scope, also for operations that
    /// threads outside of tasks add.
    @Test func runnersOfAScopeHaveItsTaskLocalValues() async throws {
        let wrong = Tally()
        let ran = Tally()
        let visited = Visited()
        try await Self.$value.withValue(7) {
            try await withOperationQueue { queue in
                await onThread {
                    for index in 0..<1_000 / slowness {
                        queue.add {
                            if Self.value != 7 { wrong.increment() }
                            if index % 3 == 0 { await Task.yield() }
                            if index % 5 == 0 { await visited.visit() }
                            if Self.value != 7 || OperationQueue.current !== queue {
                                wrong.increment()
                            }
                            ran.increment()
                        }
                    }
                }
            }
        }
        #expect(wrong.value == 0 && ran.value == 1_000 / slowness)
    }
}
