import OperationsTestSupport
import Testing

@testable import Operations

private final class Recording: Operation, @unchecked Sendable {
    let finished = Tally()
    override func main() { finished.increment() }
}

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct AddingAfterTests {
    @Test func bodyRunsAfterOperationsWithoutResults() async throws {
        let queue = OperationQueue()
        let (subclass, block) = (Recording(), BlockOperation {})
        let counts = [
            queue.add("named", after: subclass, block) { subclass.finished.value },
            queue.add(.priority(.high), after: subclass) { subclass.finished.value },
            queue.add("async", after: subclass) { () async in subclass.finished.value },
            queue.add(.retry(1), after: subclass) { () async in subclass.finished.value },
        ]
        #expect(counts.allSatisfy { !$0.isReady })
        await queue.addOperations([subclass, block], waitUntilFinished: false)
        #expect(try await counts.values() == [1, 1, 1, 1])
        #expect(counts.map(\.name) == ["named", nil, "async", nil])
    }

    @Test func bodyMayOmitTheResultsOfItsDependencies() async throws {
        let queue = OperationQueue()
        let (number, nothing, plain) = (queue.add { 3 }, queue.add {}, Recording())
        let mixed = queue.add(after: number, plain, nothing) { number.isFinished }
        let afterNothing = queue.add(after: nothing) { nothing.isFinished }
        queue.addOperation(plain)
        #expect(try await mixed.value)
        #expect(try await afterNothing.value)
    }

    @Test func bodyMayBeAFunctionWithAName() async throws {
        let queue = OperationQueue()
        let (number, nothing) = (queue.add { 3 }, BlockOperation {})
        queue.addOperation(nothing)
        let counts = [
            queue.add(after: number, body: seven), queue.add(after: nothing, body: seven),
            queue.add(after: [number], body: seven), queue.add(after: number, nothing, body: seven),
            queue.add(after: number, body: eight), queue.add(after: [nothing], body: eight),
        ]
        #expect(try await counts.values() == [7, 7, 7, 7, 8, 8])
    }

    @Test func bodyRunsAfterListsOfAnyOperations() async throws {
        let queue = OperationQueue()
        let blocks = (0..<3).map { _ in BlockOperation {} }
        let mixed: [Operation] = [queue.add { 3 }, Recording()]
        let numbers = (0..<3).map { number in queue.add { number } }
        let counts = [
            queue.add("named", after: blocks) { blocks.count(where: \.isFinished) },
            queue.add(.retry(1), after: mixed) { mixed.count(where: \.isFinished) },
            queue.add(after: blocks) { () async in blocks.count(where: \.isFinished) },
            queue.add(after: numbers) { numbers.count(where: \.isFinished) },
            queue.add(after: numbers) { $0.count },
            queue.add(after: []) { 3 },
        ]
        queue.addOperation(mixed[1])
        await queue.addOperations(blocks, waitUntilFinished: false)
        #expect(try await counts.values() == [3, 2, 3, 3, 3, 3])
    }

    @Test func nameMayBeInAVariable() async throws {
        let queue = OperationQueue()
        let name = ["one", "two"].joined(separator: " and ")
        let both = [
            queue.add(name) { Operation.current?.name },
            queue.add(name, .retry(1), .priority(.high)) { () async in Operation.current?.name },
        ]
        #expect(try await both.values() == [name, name])
        #expect(both.map(\.name) == [name, name])
        #expect(both[1].queuePriority == .high)
    }

    @Test func cancellationOrFailureCancelsTheNextOperation() async throws {
        let queue = OperationQueue()
        let cancelled = Recording()
        cancelled.cancel()
        let after = queue.add(after: cancelled, BlockOperation {}) { 1 }
        queue.addOperation(cancelled)
        await after.finished()
        #expect(after.isCancelled)
        #expect(after.cancellationReason != nil)

        let failing = queue.add("failing") { () -> Int in throw Broken() }
        let afterFailing = queue.add(after: failing) { 1 }
        await afterFailing.finished()
        #expect(afterFailing.isCancelled)
        _ = failing.error
    }

    @Test func bodyInAScopeHasTheTaskLocalValues() async throws {
        let value = try await Local.$value.withValue(7) {
            try await withOperationQueue { queue in
                let block = BlockOperation {}
                queue.addOperation(block)
                return try await queue.add(after: block) { Local.value }.value
            }
        }
        #expect(value == 7)
    }

    @Test func resultOfAOneLineScopeMayBeDiscarded() async throws {
        let runs = Tally()
        try await withOperationQueue { queue in queue.add { runs.increment() } }
        #expect(runs.value == 1)
    }
}

@Sendable private func seven() -> Int { 7 }
@Sendable private func eight() async -> Int { 8 }

private enum Local {
    @TaskLocal static var value = 0
}

private struct Broken: Error {}
