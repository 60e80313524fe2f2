import Testing

@testable import Operations

/// Async bodies that share a task while none of them suspends; nothing of that may show.
@Suite(.timeLimit(.minutes(5)))
struct AsyncRunnerTests {
    @Test func eachSeesItselfAndItsOwnCancellation() async throws {
        let queue = serialQueue()
        queue.isSuspended = true
        let operations = (0..<200).map { index in
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
        queue.isSuspended = false
        await queue.drain()
        for (index, operation) in operations.enumerated() where index % 5 != 2 {
            #expect(try operation.result)
        }
        #expect(operations.filter(\.isCancelled).count == 40)
    }

    @Test func cancellingAllReachesTheTasks() async {
        let queue = OperationQueue()
        let began = Counter()
        let operations = (0..<4).map { _ in
            queue.add {
                began.increment()
                try await untilCancelled()
            }
        }
        #expect(await comesTrue { began.value > 0 })
        queue.cancelAllOperations()
        await queue.drain()
        #expect(operations.allSatisfy { $0.isCancelled && $0.isFinished })
    }

    @Test func oneThatSuspendsKeepsItsPlaceInTheWidth() async {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 3
        let inside = Occupancy()
        for index in 0..<600 {
            queue.add {
                inside.enter()
                for _ in 0..<index % 3 { await Task.yield() }
                inside.leave()
            }
        }
        await queue.drain()
        #expect(inside.highest <= 3)
    }

    @Test func chainsOfBothKindsPassResultsOn() async throws {
        let queue = OperationQueue()
        var latest = queue.add { 0 }
        let count = 20_000 / slowness
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
        #expect(try await latest.value == count)
    }

    /// Cancelled from outside at any moment; the one after it must not be hit.
    @Test func aLateCancellationHitsNoOther() async throws {
        for _ in 0..<(300 / slowness) {
            let queue = serialQueue()
            queue.isSuspended = true
            let operations = (0..<20).map { _ in
                queue.add { () async throws -> Bool in !Task.isCancelled }
            }
            queue.isSuspended = false
            for index in stride(from: 0, to: 20, by: 2) { operations[index].cancel() }
            await queue.drain()
            for index in stride(from: 1, to: 20, by: 2) {
                #expect(try operations[index].result)
            }
        }
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
