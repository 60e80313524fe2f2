#if DurableJobs && Telemetry
import DurableJobsTelemetry
import InMemoryTracing
import OperationsRuntime
import Operations
import OperationsTestSupport
import Testing
import Tracing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import DurableJobs

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct JobSpanTests {
    @Test func eachAttemptHasASpanInTheTraceThatEnqueuedTheJob() async throws {
        try await Observed.run { observed async throws in
            let queue = observed.queue
            let (handle, request) = try await observed.tracer.withSpan("request") { span in
                let handle = try await queue.enqueue(
                    Inspect(failures: 1), .retry(1, backoff: .none))
                return (handle, span.context)
            }
            try await observed.withWorker { () async throws in
                #expect(try await handle.value == 2)
            }

            let spans = observed.spans("inspect")
            #expect(spans.map { $0.attribute("job.attempt") } == [1, 2])
            for span in spans {
                #expect(span.parentSpanID == request.inMemorySpanContext?.spanID)
                #expect(span.traceID == request.inMemorySpanContext?.traceID)
                #expect(span.kind == .consumer)
                #expect(span.attribute("job.queue") == "tests")
                #expect(span.attribute("job.name") == "inspect")
                #expect(span.attribute("job.id") == .int64(handle.id.rawValue))
            }
            #expect(observed.spans("inside").map(\.parentSpanID) == spans.map(\.spanID))

            let (failed, completed) = (try #require(spans.first), try #require(spans.last))
            #expect(failed.attribute("job.state") == "retryable")
            #expect(failed.status == SpanStatus(code: .error, message: "no connection"))
            #expect(failed.errors.count == 1 && failed.errors.first?.error is Broken)
            #expect(failed.attribute("error.type") == "DurableJobsTelemetryTests.Broken")
            #expect(completed.attribute("job.state") == "completed")
            #expect(completed.status == nil && completed.errors.isEmpty)
            #expect(observed.tracer.activeSpans.isEmpty)
        }
    }

    @Test func jobOfAJobBelongsToTheSpanOfTheAttempt() async throws {
        try await Observed.run { observed async throws in
            let queue = observed.queue
            let outer = try await queue.enqueue(Spawn())
            try await observed.withWorker { () async throws in
                let inner = queue.handle(of: Inspect.self, id: try await outer.value.id)
                #expect(try await inner.value == 1)
            }
            let span = try #require(observed.spans("spawn").first)
            #expect(span.parentSpanID == nil)
            #expect(observed.spans("inspect").first?.parentSpanID == span.spanID)
        }
    }

    /// Every method that enqueues.
    @Test func allMethodsThatEnqueueStoreTheTrace() async throws {
        try await Observed.run { observed async throws in
            let queue = observed.queue
            let connection = try SQLiteConnection(path: observed.path)
            let request = try await observed.tracer.withSpan("request") { span in
                try await queue.enqueue([Inspect(), Inspect()])
                try await queue.enqueue([Inspect()]) { _ in [.priority(.high)] }
                try await queue.enqueue(each: 1...2) { _ in Inspect() }
                var graph = JobGraph()
                let first = graph.add(Inspect())
                graph.addDependency(of: graph.add(Inspect()), on: first)
                try await queue.enqueue(graph)
                try connection.transaction("BEGIN IMMEDIATE") {
                    _ = try queue.enqueue(Inspect(), in: .sqlite(connection.pointer))
                }
                return span.context.inMemorySpanContext?.spanID
            }
            try await observed.withWorker { () async throws in
                #expect(await comesTrue { observed.count("jobs.committed") == 8 })
            }
            let spans = observed.spans("inspect")
            #expect(spans.count == 8)
            #expect(spans.allSatisfy { $0.parentSpanID == request })
        }
    }

    @Test func cancelledAttemptIsNoError() async throws {
        try await Observed.run { observed async throws in
            let job = ClaimedJob.sample(trace: nil)
            let observer = observed.queue.observer.withLock { $0 }
            for verdict: AttemptVerdict in [
                .cancelled(reason: "enough"), .postponed(reason: "later", for: .seconds(1)),
                .snoozed(reason: "later", for: .seconds(1)),
                .handedBack,
            ] {
                let attempt = try #require(observer?.attemptBegins(job))
                attempt.attemptEnded(verdict, error: CancellationError())
            }
            let spans = observed.spans("inspect")
            #expect(spans.allSatisfy { $0.status == nil && $0.errors.isEmpty })
            #expect(
                spans.map { $0.attribute("job.state") } == [
                    "cancelled", "retryable", "retryable", "available",
                ])
            #expect(spans.first?.attribute("job.cancellation") == "enough")
            let running = observed.count(
                "jobs.running.duration", ("job.name", "inspect"), ("job.state", "cancelled"))
            #expect(running == 1)
        }
    }

    /// The store keeps what W3C Trace Context defines, and nothing that a line cannot hold.
    @Test func traceIsStoredAsLinesOfFields() async throws {
        try await Observed.run { observed async throws in
            let tracer = HeaderTracer()
            observed.queue.reportTelemetry(logger: nil, metrics: nil, tracer: tracer)
            let observer = try #require(observed.queue.observer.withLock { $0 })
            #expect(observer.traceOfNewJob() == nil)
            let text = ServiceContext.withValue(.topLevel) { observer.traceOfNewJob() }
            #expect(text == "traceparent: \(HeaderTracer.parent)\ntracestate: a=b: c")
            _ = observer.attemptBegins(ClaimedJob.sample(trace: text))
            _ = observer.attemptBegins(ClaimedJob.sample(trace: "traceparent\n:\n: x\n\n"))
            #expect(
                tracer.extracted.withLock { $0 } == [
                    ["traceparent": HeaderTracer.parent, "tracestate": "a=b: c"], ["": "x"],
                ])
        }
    }
}

extension ClaimedJob {
    fileprivate static func sample(trace: String?) -> ClaimedJob {
        ClaimedJob(
            token: AttemptToken(job: JobID(7), claim: 1, worker: "w"), attempt: 1, name: "inspect",
            version: 1, arguments: Data(), place: .start, failures: 0, retryLimit: 0,
            backoff: nil, timeout: nil, deadline: nil, claimedAt: 0, enqueuedAt: 0,
            isExclusive: false, batch: nil, trace: trace)
    }
}

/// A tracer that propagates the fields of W3C Trace Context, and some that cannot be stored.
private final class HeaderTracer: Tracer {
    static let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    let extracted = Locked<[[String: String]]>([])
    private let spans = InMemoryTracer()

    func inject<Carrier, Inject: Injector>(
        _ context: ServiceContext, into carrier: inout Carrier, using injector: Inject
    ) where Inject.Carrier == Carrier {
        injector.inject(Self.parent, forKey: "traceparent", into: &carrier)
        injector.inject("a=b: c", forKey: "tracestate", into: &carrier)
        injector.inject(String(repeating: "b", count: 2000), forKey: "baggage", into: &carrier)
        injector.inject("two\nlines", forKey: "lines", into: &carrier)
        injector.inject("nul\0", forKey: "nul", into: &carrier)
    }

    func extract<Carrier, Extract: Extractor>(
        _ carrier: Carrier, into context: inout ServiceContext, using extractor: Extract
    ) where Extract.Carrier == Carrier {
        guard let fields = carrier as? [String: String] else { return }
        extracted.withLock { $0.append(fields) }
    }

    func startSpan<Instant: TracerInstant>(
        _ operationName: String, context: @autoclosure () -> ServiceContext,
        ofKind kind: SpanKind, at instant: @autoclosure () -> Instant, function: String,
        file fileID: String, line: UInt
    ) -> InMemorySpan {
        spans.startSpan(
            operationName, context: context(), ofKind: kind, at: instant(), function: function,
            file: fileID, line: line)
    }

    func forceFlush() {}
}
#endif
