#if Telemetry
import InMemoryLogging
import InMemoryTracing
import Logging
import Operations
import OperationsTelemetry
import OperationsTestSupport
import Testing

/// A process has one handler of findings, which other tests use. So each of these tests runs in a
/// process of its own.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct DiagnosticsLogTests {
    @Test func oneCallSendsFindingsToLogger() async {
        await #expect(processExitsWith: .success) {
            let log = InMemoryLogHandler()
            OperationsDiagnostics.report(to: Logger(label: "findings") { _ in log })
            do { OperationQueue().add("unseen") { throw Broken() } }
            #expect(await comesTrue { !log.entries.isEmpty })
            let failure = try #require(log.entries.first)
            #expect(failure.level == .warning)
            #expect(failure.message == "An operation failed, and its failure was never observed")
            #expect(failure.error is Broken)
            #expect(failure.metadata["operation.name"] == "unseen")
            #expect(failure.metadata["error.message"] == "no connection")

            let (first, second) = (Operation(), Operation())
            (first.name, second.name) = ("chicken", "egg")
            first.addDependency(second)
            second.addDependency(first)
            let queue = OperationQueue()
            let count = log.entries.count
            await queue.addOperations([first, second], waitUntilFinished: false)
            #expect(await comesTrue { log.entries.count > count })
            second.removeDependency(first)
            await queue.drain()
            let cycle = try #require(log.entries.last)
            #expect(cycle.message == "Operations wait for each other")
            guard case .array(let names) = cycle.metadata["operations"] else {
                Issue.record("the cycle has no names")
                return
            }
            #expect(Set(names.map { "\($0)" }) == ["chicken", "egg"] && names.count == 3)
        }
    }

    @Test func failureThatAQueueLogsIsNoFindingToo() async {
        await #expect(processExitsWith: .success) {
            let log = InMemoryLogHandler()
            OperationsDiagnostics.report(to: Logger(label: "findings") { _ in log })
            let observed = Observed()
            do { observed.queue.add("unseen") { throw Broken() } }
            await observed.drain()
            #expect(await comesTrue { observed.lines.count == 2 })
            #expect(
                observed.lines.last == "error: Operation failed, and nothing observed it unseen")
            #expect(observed.spans("unseen").first?.errors.count == 1)
            #expect(log.entries.isEmpty)
            // Without a logger, the queue leaves the failure to the findings.
            let silent = OperationQueue()
            silent.reportTelemetry(logger: nil, metrics: observed.metrics, tracer: nil)
            do { silent.add("unseen") { throw Broken() } }
            #expect(await comesTrue { log.entries.count == 1 })
        }
    }
}
#endif
