import OperationsTestSupport
import Testing

@testable import Operations

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct TaskNameTests {
    @Test func bodyGivesItsNameToItsTask() async throws {
        let queue = OperationQueue()
        let literal = queue.add("measure") {
            await Task.yield()
            return Task.name
        }
        let unnamed = queue.add {
            await Task.yield()
            return Task.name
        }
        #expect(try await literal.value == "measure")
        #expect(try await unnamed.value == nil)
    }

    @Test func bodiesWithNamesDoNotShareTasks() async throws {
        let queue = OperationQueue(width: 1)
        let operations = (0..<100).map { number in
            queue.add(number % 3 == 0 ? "unnamed" : "number \(number)") {
                if number % 2 == 0 { await Task.yield() }
                return Task.name
            }
        }
        for (number, operation) in operations.enumerated() {
            #expect(
                try await operation.value == (number % 3 == 0 ? "unnamed" : "number \(number)"))
        }
    }

    @Test func bodyWithNameKeepsTaskLocalValues() async throws {
        let queue = OperationQueue()
        let operation = Spot.$name.withValue("inside") {
            queue.add("measure") {
                await Task.yield()
                return (Task.name, Spot.name, Operation.current?.name)
            }
        }
        let seen = try await operation.value
        #expect(seen == ("measure", "inside", "measure"))
    }

    @Test func retriedBodyHasTheNameInEachAttempt() async throws {
        struct Failure: Error {}
        let queue = OperationQueue()
        let operation = queue.add("measure", .retry(2, backoff: .none)) {
            await Task.yield()
            if Operation.current?.attempt != 3 { throw Failure() }
            return Task.name
        }
        #expect(try await operation.value == "measure")
    }

    @Test func nameOfTheTaskIsTheDefault() async throws {
        let queue = OperationQueue()
        let names = try await Task(name: "import") {
            let unnamed = queue.add {}
            let named = queue.add("own") {}
            // A body does not pass its name on.
            let inner = queue.add("body") { queue.add {}.name }
            return (unnamed.name, named.name, try await inner.value)
        }.value
        #expect(names == ("import", "own", nil))
        #expect(queue.add {}.name == nil)
    }
}
