import OperationsRuntime
import OperationsTestSupport
import Testing

@testable import Operations

/// Traits that become properties of the operation: its name, priority and quality of service.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct PropertyTraitTests {
    @Test func stringLiteralIsTheName() async {
        let (queue, number) = (OperationQueue(), 7)
        let plain = queue.add("plain") {}
        let interpolated = queue.add("page \(number)", .priority(.high)) {}
        let last = queue.add(.priority(.low), "last") {}
        #expect(plain.name == "plain")
        #expect(interpolated.name == "page 7" && interpolated.queuePriority == .high)
        #expect(last.name == "last" && last.queuePriority == .low)
        await queue.drain()
    }

    /// A name in a variable, in each method that makes an operation.
    @Test func stringIsTheName() async throws {
        let queue = OperationQueue()
        let title = ["sea", "jpg"].joined(separator: ".")
        let first = queue.add(title) { 1 }
        let failing = queue.add(title, .mayFail) { () -> Int in throw NoConnection() }
        let shared = try await queue.sharedValue(title, by: 1) { Operation.current?.name }
        let tried = queue.tryAdd(title, capacity: 100) {}
        let added = [
            first, queue.add(.name(title)) { 1 }, queue.add(title, .retry(1)) { () async in 1 },
            queue.add(title, after: first) { $0 + 1 },
            queue.add(title, after: [first]) { $0.count },
            queue.add(title, after: first) { @MainActor number in number },
            TypedOperation(title) { 1 }, TypedOperation(title, .priority(.high)) { () async in 1 },
            TypedOperation(title, after: first) { $0 },
            TypedOperation(title, .retry(1), after: [first]) { $0.count },
        ]
        let withoutResults = [
            queue.add(title, after: first, on: .always) {},
            queue.add(title, after: first, failing, on: .always) {},
            queue.add(title, after: [first, failing], on: .always) {},
            queue.add(title, onFailureOf: failing) { _ in },
            try await queue.add(title, capacity: 100) {},
            try #require(tried),
        ]
        let others = [
            failing, queue.add(title, firstOf: [first]),
            queue.add(BlockOperation {}, title, .retry(1)),
        ]
        let all = added as [Operation] + withoutResults + others
        try await queue.add(title, each: 0..<3, capacity: 3) { _ in
            #expect(Operation.current?.name == title)
        }
        #expect(shared == title)
        #expect(all.map(\.name) == all.map { _ in title })
        await queue.drain()
    }

    @Test func operationIsMadeWithTraits() async throws {
        let attempts = Tally()
        let operation = TypedOperation(.retry(2, backoff: .constant(.zero)), "upload") {
            if attempts.increment() < 3 { throw NoConnection() }
            return attempts.value
        }
        #expect(operation.name == "upload")
        let doubled = TypedOperation(.priority(.high), after: operation) { n async in n * 2 }
        #expect(doubled.queuePriority == .high)
        let queue = OperationQueue()
        await queue.addOperations([doubled, operation], waitUntilFinished: true)
        #expect(try doubled.result == 6)
    }

    /// A program's own name for settings.
    @Test func programMayNameTraits() async {
        let queue = OperationQueue()
        let operation = queue.add("page", .urgent) {}
        #expect(operation.queuePriority == .veryHigh)
        await queue.drain()
    }

    @Test func laterTraitOfOneKindCounts() {
        let operation = Operation()
        operation.apply("first", .priority(.high), .qualityOfService(.utility), "second")
        operation.apply(.priority(.low))
        #expect(operation.name == "second")
        #expect(operation.queuePriority == .low)
        #expect(operation.qualityOfService == .utility)
    }

    @Test func laterTraitsKeepChangedProperties() {
        let operation = Operation()
        operation.apply("old", .priority(.high), .qualityOfService(.utility), .retry(1))
        operation.name = "new"
        operation.queuePriority = .low
        operation.qualityOfService = .background
        operation.apply(.timeout(.seconds(5)))
        #expect(operation.name == "new")
        #expect(operation.queuePriority == .low)
        #expect(operation.qualityOfService == .background)
    }

    @Test func eachElementsOperationHasTheName() async throws {
        let queue = OperationQueue()
        let names = Locked<Set<String>>([])
        try await queue.add("row", .priority(.low), each: 0..<10, capacity: 3) { _ in
            let name = TaskContext.operation?.name
            if let name { names.withLock { _ = $0.insert(name) } }
        }
        #expect(names.withLock { $0 } == ["row"])
    }
}

extension OperationTraitOrName where Self == OperationTrait {
    fileprivate static var urgent: OperationTrait { .priority(.veryHigh) }
}
