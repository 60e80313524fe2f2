import Testing

@testable import Operations

/// Where operations are made decides about their task: outside of tasks they share one while none of them
/// suspends, inside each has its own. Nothing of that may show.
enum Place: CaseIterable {
    case insideOfTask, outside

    func make<Made: Sendable>(_ body: @escaping @Sendable () -> Made) async -> Made {
        switch self {
        case .insideOfTask: body()
        case .outside: await onThread(body)
        }
    }
}

@Suite(.timeLimit(.minutes(5)))
struct AsyncRunnerTests {
    @Test(arguments: Place.allCases)
    func eachSeesItselfAndItsOwnCancellation(_ place: Place) async throws {
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
    func cancellingAllReachesTheTasks(_ place: Place) async {
        let queue = OperationQueue()
        let began = Counter()
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
    func oneThatSuspendsKeepsItsPlaceInTheWidth(_ place: Place) async {
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
    func chainsOfBothKindsPassResultsOn(_ place: Place) async throws {
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

    /// Cancelled from outside at any moment; the one after it must not be hit.
    @Test(arguments: Place.allCases)
    func aLateCancellationHitsNoOther(_ place: Place) async throws {
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

    /// A runner stays with its worker, from one queue to the next, and is taken from it by bodies that suspend.
    @Test(arguments: Place.allCases)
    func manyQueuesTakeTurns(_ place: Place) async throws {
        let queues = (0..<4).map { _ in OperationQueue() }
        let wrong = Counter()
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

    /// A runner made on behalf of one body must not carry that one's values to others.
    @Test func runnersInheritNothing() async throws {
        let queue = OperationQueue()
        let seen = await onThread { () -> [TypedOperation<Int>] in
            (0..<100).map { index in
                queue.add { () async throws -> Int in
                    try await Self.$value.withValue(index + 1) {
                        // Made by a thread that runs a task at this moment.
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

    /// Whichever comes first: the cancellation for the one before, or the next one.
    @Test(arguments: [true, false])
    func aTaskThatWasCancelledTakesNoOther(isCancelledBefore: Bool) async {
        let (first, second) = (TypedOperation { 1 }, TypedOperation { 2 })
        let goesOn = await Task {
            let body = AsyncBody(first, in: nil)
            body.begin()
            if isCancelledBefore { body.cancel(first) }
            let goesOn = body.goOn(with: second)
            body.cancel(first)
            #expect(Task.isCancelled == isCancelledBefore)
            body.end()
            return goesOn
        }.value
        #expect(goesOn == !isCancelledBefore)
    }

    @Test func bodiesAreLetGoOf() async throws {
        weak var token: Counter?
        let queue = OperationQueue()
        let operation: TypedOperation<Int>
        do {
            let counter = Counter()
            token = counter
            operation = queue.add {
                await Task.yield()
                return counter.value
            }
        }
        #expect(try await operation.value == 0)
        #expect(await comesTrue { token == nil })
    }
}
