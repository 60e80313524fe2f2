#if Telemetry
import InMemoryLogging
import InMemoryTracing
import Logging
import Operations
import OperationsTelemetry
import OperationsTestKit
import OperationsTestSupport
import Testing
import Tracing

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct LogTests {
    @Test func failuresThatTheProgramObservesAndOtherEventsAreDebug() async throws {
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
                "debug: Operation failed broken",
                "debug: Operation will be retried flaky",
                "debug: Operation ran out of time slow",
                "debug: Operation failed slow",
                "debug: Operation was cancelled unwanted",
            ])
        let entries = observed.log.entries
        try #require(entries.count == 5)
        #expect(entries.allSatisfy { $0.metadata["operation.queue"] == "tests" })
        let failure = try #require(entries.first)
        #expect(failure.error is Broken)
        #expect(failure.metadata["error.message"] == "no connection")
        #expect(failure.metadata["error.type"] == "OperationsTelemetryTests.Broken")
        #expect(failure.metadata["operation.running.duration"] != nil)
        #expect(entries[1].metadata["operation.attempt"] == "1")
        #expect(entries[1].metadata["operation.delay.duration"] != nil)
        #expect(entries[2].error is OperationTimeout)
        #expect(entries[4].metadata["operation.cancellation"] == "the row scrolled away")
        #expect(entries[4].metadata["operation.running.duration"] == nil)
    }

    /// Without metrics and a tracer, an operation has no telemetry of its own.
    @Test func loggerAloneLogsTheSame() async throws {
        let (queue, log) = (OperationQueue(name: "alone"), InMemoryLogHandler())
        var logger = Logger(label: "tests") { [log] _ in log }
        logger.logLevel = .debug
        let reports = queue.reportTelemetry(logger: logger, metrics: nil, tracer: nil)
        await queue.add("fine") {}.finished()
        await queue.add("expected", .mayFail) { throw Broken() }.finished()
        await queue.add("broken") { throw Broken() }.fails()
        let attempts = Tally()
        await queue.add("flaky", .retry(2, backoff: .constant(.milliseconds(1)))) {
            if attempts.increment() < 3 { throw Broken() }
        }
        .finished()
        queue.isSuspended = true
        queue.add("unwanted") {}.cancel(because: "the row scrolled away")
        await queue.finished()
        queue.isSuspended = false
        do { await queue.add("forgotten") { throw Broken() }.finished() }
        await queue.finished()
        #expect(await comesTrue { log.entries.count == 6 })
        #expect(
            log.entries.map { "\($0.level): \($0.message) \($0.metadata["operation.name"] ?? "")" }
                == [
                    "debug: Operation failed broken",
                    "debug: Operation will be retried flaky",
                    "debug: Operation will be retried flaky",
                    "debug: Operation was cancelled unwanted",
                    "debug: Operation failed forgotten",
                    "error: Operation failed, and nothing observed it forgotten",
                ])
        #expect(
            log.entries.compactMap { $0.metadata["operation.attempt"].map { "\($0)" } } == [
                "1", "2",
            ])
        #expect(log.entries.allSatisfy { $0.metadata["operation.queue"] == "alone" })
        reports.end()
        await queue.add("late") { throw Broken() }.fails()
        await queue.finished()
        #expect(log.entries.count == 6)
    }

    @Test func failureThatNothingObservesIsAnError() async throws {
        let observed = Observed()
        await observed.queue.add("forgotten") { throw Broken() }.finished()
        await observed.drain()
        #expect(await comesTrue { observed.log.entries.count == 2 })
        #expect(
            observed.lines == [
                "debug: Operation failed forgotten",
                "error: Operation failed, and nothing observed it forgotten",
            ])
        let error = try #require(observed.log.entries.last)
        #expect(error.error is Broken && error.metadata["operation.queue"] == "tests")
        #expect(error.metadata["error.message"] == "no connection")
        #expect(error.metadata["operation.running.duration"] != nil)
    }

    @Test func failureThatTheProgramExpectsIsNotLogged() async {
        let observed = Observed()
        await observed.queue.add("optional", .mayFail) { throw Broken() }.finished()
        await observed.queue.add("optional", .mayFail) {
            await Task.yield()
            throw Broken()
        }.finished()
        await observed.drain()
        #expect(observed.lines.isEmpty)
    }

    /// The failure of an operation is handled also by one that is cancelled because of it, and
    /// whose end the program reads.
    @Test func failureThatADependentReportsIsNoError() async {
        let observed = Observed()
        let receipt: TypedOperation<Void>
        do {
            let upload = observed.queue.add("upload") { () throws -> Int in throw Broken() }
            receipt = observed.queue.add("receipt", after: upload) { _ in }
        }
        await receipt.finished()
        await observed.drain()
        do { try await receipt.value } catch { #expect(error is OperationCancellation) }
        #expect(!observed.lines.contains { $0.hasPrefix("error") })
    }

    /// One line for one failure: the finding is for queues that do not log it.
    @Test func findingIsReportedOnceTheReportsHaveEnded() async {
        await #expect(processExitsWith: .success) {
            let found = Tally()
            OperationsDiagnostics.handler = { _ in found.increment() }
            let observed = Observed()
            await observed.queue.add("logged") { throw Broken() }.finished()
            await observed.drain()
            _ = await comesTrue { observed.log.entries.count == 2 }
            precondition(found.value == 0)
            let gate = Signal()
            do {
                observed.queue.add("late") {
                    gate.wait()
                    throw Broken()
                }
            }
            observed.reports.end()
            gate.send()
            await observed.drain()
            #expect(await comesTrue { found.value == 1 })
            precondition(observed.log.entries.count == 2)
        }
    }

    @Test func cancelledDependentLogsFailureAsReason() async {
        let observed = Observed()
        let upload = observed.queue.add("upload") { () throws -> Int in throw Broken() }
        let receipt = observed.queue.add("receipt", after: upload) { _ in }
        await receipt.finished()
        await upload.fails()
        await observed.drain()
        let entry = observed.log.entries.first { $0.metadata["operation.name"] == "receipt" }
        #expect(entry?.level == .debug)
        #expect(entry?.metadata["operation.cancellation"] == "'upload' failed: no connection")
    }

    @Test func levelOfLoggerIsRespected() async {
        let observed = Observed(level: .error)
        observed.queue.isSuspended = true
        observed.queue.add("unwanted") {}.cancel()
        await observed.drain()
        #expect(observed.lines.isEmpty)
    }

    @Test func bodiesHaveTheLoggerOfTheTaskThatAdds() async {
        let observed = Observed()
        var request = Logger(label: "request") { _ in InMemoryLogHandler() }
        request[metadataKey: "request-id"] = "42"
        let seen = TestRecorder<String?>()
        await withLogger(request) { _ in
            await observed.queue.add("block") {
                seen.record(Logger.current[metadataKey: "request-id"].map { "\($0)" })
            }.finished()
            await observed.queue.add("async") {
                await Task.yield()
                seen.record(Logger.current[metadataKey: "request-id"].map { "\($0)" })
            }.finished()
        }
        #expect(seen.events == ["42", "42"])
    }

    @Test func stallsAreWarnings() async {
        var options = TelemetryOptions()
        options.stallLimit = .milliseconds(5)
        let observed = Observed(options: options)
        observed.queue.maxConcurrentOperationCount = 1
        let mayEnd = Signal()
        observed.queue.addOperation { mayEnd.wait() }
        observed.queue.add("ready") {}
        #expect(await comesTrue { !observed.lines.isEmpty })
        mayEnd.send()
        await observed.drain()
        #expect(observed.lines.first == "warning: Operation queue has stalled ")
        let entry = observed.log.entries.first
        #expect(entry?.metadata["unfinished"] == "2")
        let explanation = entry?.metadata["explanation"].map { "\($0)" }
        #expect(explanation?.contains("'ready'") == true && explanation?.contains("\n") == false)
        #expect(observed.count("operations.stalls") >= 1)
    }

    @Test func operationThatExecutesForTooLongIsAWarning() async {
        var options = TelemetryOptions()
        options.stallLimit = .seconds(3_600)
        options.operationLimit = .milliseconds(5)
        let observed = Observed(options: options)
        let mayEnd = Signal()
        observed.queue.add("hangs") { mayEnd.wait() }
        #expect(await comesTrue { !observed.lines.isEmpty })
        mayEnd.send()
        await observed.drain()
        #expect(observed.lines.first == "warning: Operation executes for too long ")
        guard case .array(let operations)? = observed.log.entries.first?.metadata["operations"]
        else {
            Issue.record("no operations")
            return
        }
        #expect("\(operations[0])".hasPrefix("'hangs' has executed for "))
        #expect(observed.count("operations.stalls") >= 1)
    }

    /// The metadata provider finds the span in the task, as the one of a tracing backend does.
    @Test func messagesAreLoggedInsideTheirSpan() async throws {
        var handler = InMemoryLogHandler()
        handler.metadataProvider = Logger.MetadataProvider {
            ServiceContext.current?.inMemorySpanContext.map { ["span": "\($0.spanID)"] } ?? [:]
        }
        let (tracer, queue) = (InMemoryTracer(), OperationQueue())
        var logger = Logger(label: "tests") { [handler] _ in handler }
        logger.logLevel = .debug
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
