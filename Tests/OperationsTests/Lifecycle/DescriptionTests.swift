import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

private final class Download: Operation, @unchecked Sendable {
    override var description: String { "a download" }
    override var debugDescription: String { "Download(debug)" }
}

private final class Lane: OperationQueue, @unchecked Sendable {
    override var description: String { "a lane" }
}

@Suite(.timeLimit(.minutes(5)))
struct DescriptionTests {
    @Test func subclassesMayOverrideDescription() {
        #expect("\(Download())" == "a download")
        #expect(String(reflecting: Download()) == "Download(debug)")
        #expect("\(Lane())" == "a lane")
        #expect(String(reflecting: Lane()) == "a lane")
    }

    @Test func defaultDescriptionHasNameAndState() {
        let operation = BlockOperation {}
        operation.name = "sea"
        #expect("\(operation)" == "'sea' (in no queue)")
        #expect(String(reflecting: operation) == "'sea' (in no queue)")
    }

    // MARK: Operations without a name

    @Test func operationWithoutNameIsCalledByThePlaceThatMadeIt() async throws {
        let queue = OperationQueue(width: 4)
        let first = queue.add { 1 }
        let place = "'DescriptionTests.swift:\(#line - 1)'"
        #expect(first.name == nil && first.label == place)
        #expect("\(first)".hasPrefix(place))
        let named = queue.add("sea") { 1 }
        #expect(named.label == "'sea'")
        let line = #line + 1
        let admitted = try await queue.add(capacity: 100) { 1 }
        let made = TypedOperation(.retry(1)) { 1 }
        let madeAfter = TypedOperation(after: first) { $0 }
        let successful = queue.add(firstOf: first, named)
        let added = [
            queue.add { () async in 1 }, queue.add(after: first) { $0 },
            queue.add(after: [first]) { $0.count }, queue.add(after: first, named) { $0 + $1 },
            queue.add(after: first) { @MainActor number in number },
        ]
        let all = [admitted, made, madeAfter, successful] + added
        let lines = all.map { Int($0.label.split(separator: ":")[1].prefix { $0 != "'" }) ?? 0 }
        #expect(lines.allSatisfy { (line...line + 8).contains($0) }, "\(lines), not \(line)")
        let others: [TypedOperation<Void>] = [
            queue.add(after: first, on: .always) {}, queue.add(after: all as [Operation]) {},
            queue.add(after: first, named, on: .always) {}, queue.add(onFailureOf: first) { _ in },
        ]
        #expect(others.allSatisfy { $0.label.hasPrefix("'DescriptionTests.swift:") })
        await queue.addOperations([made, madeAfter], waitUntilFinished: false)
        await queue.drain()
    }

    @Test func messagesHaveThePlaces() async throws {
        let queue = OperationQueue()
        let download = queue.add { () -> Int in throw NoConnection() }
        let picture = queue.add(after: download) { $0 }
        let line = #line - 1
        let error = await #expect(throws: OperationCancellation.self) { try await picture.value }
        let file = "DescriptionTests.swift"
        #expect(
            error?.description
                == "'\(file):\(line)' was cancelled: '\(file):\(line - 1)' failed: no connection")
    }

    @Test func elementsOfASequenceHaveThePlaceOfTheCall() async throws {
        let queue = OperationQueue()
        let labels = TestRecorder<String>()
        try await queue.add(each: 0..<3, capacity: 2) { _ in
            labels.record(Operation.current?.label ?? "")
        }
        let expected = "'DescriptionTests.swift:\(#line - 3)'"
        #expect(labels.events == [expected, expected, expected])
        let shared = try await queue.sharedValue(by: 1) { Operation.current?.label }
        #expect(shared == "'DescriptionTests.swift:\(#line - 1)'")
    }

    @Test func placesInUnusualFilesAreNone() {
        #expect(CallSite("Module/File.swift", 12).text == "File.swift:12")
        #expect(CallSite("File.swift", 65_535).text == "File.swift:65535")
        #expect(CallSite("File.swift", 65_536).text == nil)
        #expect(CallSite().text == nil)
    }
}
