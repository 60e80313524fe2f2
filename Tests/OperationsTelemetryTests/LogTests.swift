#if Telemetry
import InMemoryLogging
import InMemoryTracing
import Logging
import Operations
import OperationsTelemetry
import OperationsTestSupport
import Testing
import Tracing

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct LogTests {
    @Test func failuresAreErrorsAndOtherEventsAreDebug() async throws {
        let observed = Observed()
        let queue = observed.queue
        await queue.add("fine") {}.finished()
        await queue.add("broken") { throw Broken() }.fails()
        let attempts = Tally()
        await queue.add("flaky", .retry(1, backoff: .constant(.milliseconds(1)))) {
            if attempts.increment() == 1 { throw Broken() }
        }
        .finished()
        await queue.add("slow", .timeout(.milliseconds(5))) { try await untilCancelled() }
            .fails()
        queue.isSuspended = true
        queue.add("unwanted") {}.cancel(because: "the row scrolled away")
        await observed.drain()
        #expect(
            observed.lines == [
                "error: Operation failed broken",
                "debug: Operation will be retried flaky",
                "debug: Operation ran out of time slow",
                "error: Operation failed slow",
                "debug: Operation was cancelled unwanted",
            ])
        let entries = observed.log.entries
        try #require(entries.count == 5)
        #expect(entries.allSatisfy { $0.metadata["queue"] == "tests" })
        let failure = try #require(entries.first)
        #expect(failure.error is Broken)
        #expect(failure.metadata["error.message"] == "no connection")
        #expect(failure.metadata["error.type"] == "OperationsTelemetryTests.Broken")
        #expect(failure.metadata["duration"] != nil)
        #expect(entries[1].metadata["attempt"] == "1")
        #expect(entries[1].metadata["delay"] != nil)
        #expect(entries[2].error is OperationTimeout)
        #expect(entries[4].metadata["reason"] == "the row scrolled away")
        #expect(entries[4].metadata["duration"] == nil)
    }

    @Test func cancelledDependentLogsFailureAsReason() async {
        let observed = Observed()
        let upload = observed.queue.add("upload") { () throws -> Int in throw Broken() }
        let receipt = observed.queue.add("receipt", after: upload) { _ in }
        await receipt.finished()
        await upload.fails()
        await observed.drain()
        let entry = observed.log.entries.first { $0.metadata["operation"] == "receipt" }
        #expect(entry?.level == .debug)
        #expect(entry?.metadata["reason"] == "'upload' failed: no connection")
    }

    @Test func levelOfLoggerIsRespected() async {
        let observed = Observed(level: .error)
        observed.queue.isSuspended = true
        observed.queue.add("unwanted") {}.cancel()
        await observed.drain()
        #expect(observed.lines.isEmpty)
    }

    @Test func stallsAreWarnings() async {
        var options = TelemetryOptions()
        options.stallLimit = .milliseconds(5)
        let observed = Observed(options: options)
        let mayEnd = Signal()
        observed.queue.addOperation { mayEnd.wait() }
        #expect(await comesTrue { !observed.lines.isEmpty })
        mayEnd.send()
        await observed.drain()
        #expect(observed.lines.first == "warning: Operation queue has stalled ")
        let entry = observed.log.entries.first
        #expect(entry?.metadata["unfinished"] == "1")
        #expect(entry?.metadata["explanation"] != nil)
        #expect(observed.count("operations.stalls") >= 1)
    }

    /// The metadata provider finds the span in the task, as the one of a tracing backend does.
    @Test func messagesAreLoggedInsideTheirSpan() async throws {
        var handler = InMemoryLogHandler()
        handler.metadataProvider = Logger.MetadataProvider {
            ServiceContext.current?.inMemorySpanContext.map { ["span": "\($0.spanID)"] } ?? [:]
        }
        let (tracer, queue) = (InMemoryTracer(), OperationQueue())
        let logger = Logger(label: "tests") { [handler] _ in handler }
        queue.reportTelemetry(logger: logger, metrics: nil, tracer: tracer)
        await queue.add("block") { () throws -> Void in throw Broken() }.fails()
        await queue.add("async") {
            await Task.yield()
            throw Broken()
        }
        .fails()
        let spans = tracer.finishedSpans.map { Logger.MetadataValue.string($0.spanID) }
        #expect(spans.count == 2)
        #expect(handler.entries.compactMap { $0.metadata["span"] } == spans)
    }
}
#endif
