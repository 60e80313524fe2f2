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

    @Test func stringIsTheNameByItsTrait() async {
        let queue = OperationQueue()
        let title = ["sea", "jpg"].joined(separator: ".")
        let first = queue.add(.name(title)) { 1 }
        let second = queue.add(.name(title), after: first) { $0 + 1 }
        #expect(first.name == "sea.jpg" && second.name == "sea.jpg")
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
