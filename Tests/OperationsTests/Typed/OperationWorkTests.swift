import OperationsTestSupport
import Testing

@testable import Operations

/// Operation bodies that have a type of their own.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct OperationWorkTests {
    private struct Failed: Error {}

    private struct Sum: OperationWork {
        let numbers: [Int]
        func run() -> Int { numbers.reduce(0, +) }
    }

    private struct Flaky: OperationWork {
        let attempts = Tally()
        func run() async throws -> Int {
            await Task.yield()
            if attempts.increment() < 3 { throw Failed() }
            return attempts.value
        }
    }

    @Test func resultPassesToTheNextOperation() async throws {
        let queue = OperationQueue()
        let sum = queue.add(Sum(numbers: [1, 2, 3]))
        let text = queue.add(after: sum) { "\($0)" }
        #expect(try await text.value == "6")
    }

    @Test func typeNameIsTheDefaultName() async {
        let queue = OperationQueue()
        let named = queue.add(Sum(numbers: []), "nothing", .priority(.high))
        #expect(TypedOperation(Sum(numbers: [])).name == "Sum")
        #expect(named.name == "nothing" && named.queuePriority == .high)
        await queue.drain()
    }

    @Test func eachAttemptRunsTheWork() async throws {
        let flaky = OperationQueue().add(Flaky(), .retry(2, backoff: .none))
        #expect(try await flaky.value == 3)
    }

    @Test func workRunsInAScope() async throws {
        let sum = try await withOperationQueue { queue in
            try await queue.add(Sum(numbers: [4, 5])).value
        }
        #expect(sum == 9)
    }
}
