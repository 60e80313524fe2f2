import OperationsTestSupport
import Testing

@testable import Operations

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct TypedOperationTests {
    struct Broken: Error, Equatable {}

    @Test func valueIsTheResultOfTheBody() async throws {
        let queue = OperationQueue()
        let plain = queue.add { 42 }
        let asynchronous = queue.add {
            await Task.yield()
            return "x"
        }
        #expect(try await plain.value == 42)
        #expect(try await asynchronous.value == "x")
        #expect(!plain.isAsynchronous && asynchronous.isAsynchronous)
        #expect(try plain.result == 42)
    }

    @Test func resultsPassBetweenOperationsWithTheirTypes() async throws {
        let queue = OperationQueue()
        let number = queue.add("number", .priority(.low)) { 3 }
        let word = queue.add {
            await Task.yield()
            return "ab"
        }
        let both = queue.add(after: number, word) { number, word in
            String(repeating: word, count: number)
        }
        let later = queue.add(after: both) { text in
            await Task.yield()
            return text.count
        }
        let all = queue.add(after: [number, later, number]) { $0.reduce(0, +) }
        #expect(try await both.value == "ababab")
        #expect(try await all.value == 12)
        #expect(number.name == "number" && number.queuePriority == .low)
    }

    @Test func subclassReturnsItsOutput() async throws {
        final class Twice: TypedOperation<Int>, @unchecked Sendable {
            let input: TypedOperation<Int>
            init(_ input: TypedOperation<Int>) {
                self.input = input
                super.init()
                addDependency(input, on: .success)
            }
            override func main() async throws -> Int { try input.result * 2 }
        }
        final class Seven: TypedOperation<Int>, @unchecked Sendable {
            override func main() async throws -> Int { 7 }
        }
        let queue = OperationQueue()
        let input = Seven()
        let twice = Twice(input)
        queue.addOperation(twice)
        queue.addOperation(input)
        #expect(try await twice.value == 14)
    }

    @Test func voidSubclassMayOverrideTheSynchronousMain() async throws {
        final class Plain: TypedOperation<Void>, @unchecked Sendable {
            let ran = Tally()
            override func main() { ran.increment() }
        }
        let operation = Plain()
        OperationQueue().addOperation(operation)
        try await operation.value
        #expect(operation.ran.value == 1)
    }

    @Test func resultBeforeTheEndThrows() async throws {
        let gate = UncancellableGate()
        let queue = OperationQueue()
        let operation = queue.add("slow") {
            await gate.wait()
            return 1
        }
        #expect(throws: OperationResultError.notFinished(operation: "'slow'")) {
            try operation.result
        }
        gate.open()
        #expect(try await operation.value == 1)
    }

    @Test func valueThrowsTheErrorOfTheBody() async {
        let queue = OperationQueue()
        let plain = queue.add { () throws -> Int in throw Broken() }
        let asynchronous = queue.add { () async throws -> Int in throw Broken() }
        await #expect(throws: Broken.self) { try await plain.value }
        await #expect(throws: Broken.self) { try await asynchronous.value }
        #expect(plain.error as? Broken == Broken() && !plain.isCancelled && plain.isFinished)
    }

    @Test func valueOfACancelledOperationThrowsTheReason() async {
        let queue = suspendedQueue()
        let operation = queue.add("row 7") { 1 }
        operation.cancel(because: "it scrolled away")
        do {
            _ = try await operation.value
            Issue.record("the cancelled operation has a value")
        } catch let error as OperationCancellation {
            #expect("\(error)" == "'row 7' was cancelled: it scrolled away")
        } catch {
            Issue.record("the value threw \(error)")
        }
    }

    @Test func bodyAndInputsAreReleased() async throws {
        weak var token: Tally?
        let operation: TypedOperation<Int>
        do {
            let counter = Tally()
            token = counter
            let input = TypedOperation { counter.value }
            operation = TypedOperation(after: input) { $0 + counter.value }
            #expect(token != nil)
            let queue = OperationQueue()
            queue.addOperation(operation)
            queue.addOperation(input)
        }
        #expect(try await operation.value == 0)
        #expect(await comesTrue { token == nil })
    }

    @Test(arguments: ["block", "async", "retried", "subclass"])
    func bodyOfAnOperationThatNeverRanIsReleased(kind: String) async {
        final class Subclass: TypedOperation<Int>, @unchecked Sendable {}
        weak var token: Tally?
        let operation: TypedOperation<Int>
        let queue = suspendedQueue()
        do {
            let counter = Tally()
            token = counter
            operation =
                switch kind {
                case "async": TypedOperation { () async in counter.value }
                case "subclass": Subclass { counter.value }
                default: TypedOperation { counter.value }
                }
            if kind == "retried" { operation.apply(.retry(1)) }
        }
        queue.addOperation(operation)
        operation.cancel()
        await queue.drain()
        #expect(await comesTrue { token == nil })
        #expect(throws: OperationCancellation.self) { try operation.result }
    }

    @Test func longChainPassesItsResultsOn() async throws {
        let queue = OperationQueue()
        var latest = queue.add { 0 }
        let count = 100_000 / slowness
        for _ in 0..<count { latest = queue.add(after: latest) { $0 + 1 } }
        #expect(try await latest.value == count)
    }

    @Test func valuesOfManyOperationsAreInOrder() async throws {
        let queue = OperationQueue()
        let operations = (0..<100).map { index in queue.add { index } }
        #expect(try await operations.values() == Array(0..<100))
    }
}
