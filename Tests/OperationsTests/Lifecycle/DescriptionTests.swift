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
}
