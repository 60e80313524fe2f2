#if Telemetry
import InMemoryTracing
import Operations
import OperationsTelemetry
import OperationsTestKit
import OperationsTestSupport
import Testing
import Tracing

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct SpanTests {
    @Test func spanIsChildOfSpanThatAddedItsOperation() async throws {
        let observed = Observed()
        let request = observed.tracer.withSpan("request") { request in
            observed.queue.add("block") {}
            observed.queue.add("async") { await Task.yield() }
            observed.queue.addOperation {}
            return request.spanID
        }
        await observed.queue.add("alone") {}.finished()
        await observed.drain()
        for name in ["block", "async", "BlockOperation"] {
            let span = try #require(observed.spans(name).first)
            #expect(span.parentSpanID == request)
            #expect(span.kind == .internal)
            #expect(span.status == nil && span.errors.isEmpty)
        }
        #expect(observed.spans("alone").first?.parentSpanID == nil)
        #expect(observed.tracer.finishedSpans.count == 5)
        #expect(observed.tracer.activeSpans.isEmpty)
    }

    /// A request adds a block, which adds an async body: all belong to the request's trace.
    @Test func spansGoOnThroughBlocksWithoutATask() async throws {
        let observed = Observed()
        let queue = observed.queue
        observed.tracer.withSpan("request") { _ in
            _ = queue.add("block") {
                queue.add("async") {
                    await Task.yield()
                    queue.add("inner") {}
                }
            }
        }
        await observed.drain()
        let block = try #require(observed.spans("block").first)
        let async = try #require(observed.spans("async").first)
        #expect(block.parentSpanID == observed.spans("request").first?.spanID)
        #expect(async.parentSpanID == block.spanID)
        #expect(observed.spans("inner").first?.parentSpanID == async.spanID)
    }

    private enum Local { @TaskLocal static var id = 0 }

    /// Blocks, operations of classes and operations with several blocks have the task-local values
    /// of the one who adds them.
    @Test func bodiesHaveTheTaskLocalValuesOfTheOneWhoAdds() async {
        final class Plain: Operation, @unchecked Sendable {
            let seen: TestRecorder<Int>
            init(_ seen: TestRecorder<Int>) { self.seen = seen }
            override func main() { seen.record(Local.id) }
        }
        let observed = Observed()
        let seen = TestRecorder<Int>()
        let attempts = Tally()
        Local.$id.withValue(5) {
            observed.queue.add("block") { seen.record(Local.id) }
            observed.queue.addOperation { seen.record(Local.id) }
            observed.queue.addOperation(Plain(seen))
            observed.queue.add("again", .retry(1, backoff: .none)) {
                seen.record(Local.id)
                if attempts.increment() == 1 { throw Broken() }
            }
            observed.queue.addBarrierBlock { seen.record(Local.id) }
            // It never runs, and its values are released with it.
            observed.queue.add("gone", .delay(.seconds(100_000))) {}.cancel()
        }
        await observed.drain()
        #expect(seen.events == Array(repeating: 5, count: 6))
    }

    @Test func blocksThatRunAtATimeDoNotWaitForEachOther() async {
        let observed = Observed()
        let operation = BlockOperation {}
        let (first, second) = (Signal(), Signal())
        operation.addExecutionBlock {
            first.send()
            second.wait()
        }
        operation.addExecutionBlock {
            second.send()
            first.wait()
        }
        observed.queue.addOperation(operation)
        await observed.drain()
        #expect(operation.isFinished)
    }

    @Test func spanRecordsOutcomeOfOperation() async throws {
        let observed = Observed()
        await observed.queue.add("fine") {}.finished()
        await observed.queue.add("broken") { throw Broken() }.fails()
        await observed.queue.add("slow", .timeout(.milliseconds(5))) {
            try await untilCancelled()
        }
        .fails()
        let runs = Signal()
        let stopped = observed.queue.add("stopped") {
            runs.send()
            try? await untilCancelled()
        }
        #expect(await runs.arrives())
        stopped.cancel(because: "enough")
        await stopped.finished()

        let fine = try #require(observed.spans("fine").first)
        #expect(fine.attributes["operation.queue"]?.toSpanAttribute() == "tests")
        #expect(fine.attributes["operation.outcome"]?.toSpanAttribute() == "finished")
        #expect(fine.attributes["operation.type"]?.toSpanAttribute() == "TypedOperation<()>")
        #expect(fine.attributes["operation.queued.duration"] != nil)
        #expect(fine.attributes["operation.waiting.duration"] != nil)
        #expect(fine.attributes["operation.attempts"] == nil)

        let broken = try #require(observed.spans("broken").first)
        #expect(broken.status == SpanStatus(code: .error, message: "no connection"))
        #expect(broken.errors.count == 1 && broken.errors.first?.error is Broken)
        #expect(
            broken.attributes["error.type"]?.toSpanAttribute() == "OperationsTelemetryTests.Broken")

        let slow = try #require(observed.spans("slow").first)
        #expect(slow.attributes["operation.outcome"]?.toSpanAttribute() == "expired")
        #expect(slow.events.map(\.name) == ["timeout"])
        #expect(slow.status?.code == .error)

        let cancelled = try #require(observed.spans("stopped").first)
        #expect(cancelled.attributes["operation.outcome"]?.toSpanAttribute() == "cancelled")
        #expect(cancelled.attributes["operation.cancellation"]?.toSpanAttribute() == "enough")
        #expect(cancelled.status == nil)
    }

    @Test func unstartedOperationHasNoSpan() async {
        let observed = Observed()
        observed.queue.isSuspended = true
        observed.queue.add {}.cancel()
        observed.queue.addOperation(Operation())
        observed.queue.cancelAllOperations()
        await observed.drain()
        #expect(observed.tracer.finishedSpans.isEmpty)
        #expect(observed.tracer.activeSpans.isEmpty)
    }

    @Test func allAttemptsShareOneSpan() async throws {
        let observed = Observed()
        let attempts = Tally()
        let flaky = observed.queue.add(
            "flaky", .retry(5, backoff: .constant(.milliseconds(1)))
        ) {
            let number = attempts.increment()
            observed.tracer.withSpan("attempt \(number)") { _ in }
            if number < 3 { throw Broken() }
        }
        await flaky.finished()
        let span = try #require(observed.spans("flaky").first)
        #expect(observed.spans("flaky").count == 1)
        #expect(span.events.map(\.name) == ["retry", "retry"])
        #expect(
            span.events.first?.attributes["error.message"]?.toSpanAttribute() == "no connection")
        #expect(span.attributes["operation.attempts"]?.toSpanAttribute() == 3)
        #expect(span.errors.isEmpty && span.status == nil)
        for number in 1...3 {
            #expect(observed.spans("attempt \(number)").first?.parentSpanID == span.spanID)
        }
    }

    /// Every kind of body, on every path that runs it.
    @Test func spansInBodiesAreNested() async throws {
        final class Classic: Operation, @unchecked Sendable {
            let work: @Sendable () -> Void
            init(_ work: @escaping @Sendable () -> Void) { self.work = work }
            override func main() { work() }
        }
        final class Typed: TypedOperation<Void>, @unchecked Sendable {
            let work: @Sendable () -> Void
            init(_ work: @escaping @Sendable () -> Void) {
                self.work = work
                super.init()
            }
            override func main() async throws {
                await Task.yield()
                work()
            }
        }
        let observed = Observed()
        let tracer = observed.tracer
        let mark: @Sendable (String) -> Void = { name in tracer.withSpan("in \(name)") { _ in } }
        observed.queue.add("block") { mark("block") }
        observed.queue.add("async") {
            mark("async")
            await Task.yield()
            await withTaskGroup { group in
                for _ in 1...2 { group.addTask { mark("async") } }
            }
        }
        observed.queue.add("urgent", .qualityOfService(.userInitiated)) {
            await Task.yield()
            mark("urgent")
        }
        observed.queue.add("again", .retry(2)) {
            await Task.yield()
            mark("again")
        }
        // The two blocks need two threads.
        let (one, other) = (Signal(), Signal())
        let several = BlockOperation {
            one.send()
            #expect(other.wait())
            mark("several")
        }
        several.addExecutionBlock {
            other.send()
            #expect(one.wait())
            mark("several")
        }
        let classic = Classic { mark("classic") }
        let typed = Typed { mark("typed") }
        for (name, operation) in [("several", several), ("classic", classic), ("typed", typed)] {
            operation.name = name
            observed.queue.addOperation(operation)
        }
        observed.queue.addBarrierBlock { mark("barrier") }
        await observed.drain()
        let counts = ["several": 2, "async": 3]
        for name in [
            "block", "async", "urgent", "again", "several", "classic", "typed", "barrier",
        ] {
            let span = try #require(observed.spans(name).first)
            let inside = observed.spans("in \(name)")
            #expect(inside.count == counts[name] ?? 1)
            #expect(inside.allSatisfy { $0.parentSpanID == span.spanID }, "\(name)")
        }
        // A worker carries no span over to its next operation.
        let quiet = OperationQueue()
        for _ in 1...100 { quiet.add("quiet") { mark("quiet") } }
        await quiet.finished()
        #expect(observed.spans("in quiet").allSatisfy { $0.parentSpanID == nil })
    }

    @Test func addingOperationIsParentOfAddedOne() async throws {
        let observed = Observed()
        let queue = observed.queue
        let outer = queue.add("outer") { queue.add("inner") {} }
        await outer.finished()
        await observed.drain()
        let span = try #require(observed.spans("outer").first)
        #expect(observed.spans("inner").first?.parentSpanID == span.spanID)
    }

    @Test func dependenciesAreLinked() async throws {
        let observed = Observed()
        let first = observed.queue.add("first") { 1 }
        let second = observed.queue.add("second") { 2 }
        let sum = observed.queue.add("sum", after: first, second) { $0 + $1 }
        #expect(try await sum.value == 3)
        let span = try #require(observed.spans("sum").first)
        let linked = span.links.compactMap { $0.context.inMemorySpanContext?.spanID }
        let dependencies = ["first", "second"].compactMap { observed.spans($0).first?.spanID }
        #expect(linked == dependencies && linked.count == 2)
    }

    /// The span of the request is an ancestor of all spans in the scope, with and without telemetry
    /// of the scope's queue.
    @Test(arguments: [false, true])
    func contextFlowsIntoScopes(isReported: Bool) async throws {
        let tracer = InMemoryTracer()
        let request = try await tracer.withSpan("request") { request in
            try await withOperationQueue(name: "scope") { queue in
                if isReported {
                    queue.reportTelemetry(logger: nil, metrics: nil, tracer: tracer)
                }
                queue.add("block") { tracer.withSpan("inside") { _ in } }
                queue.add("async") {
                    await Task.yield()
                    tracer.withSpan("inside") { _ in }
                }
                queue.addOperation { tracer.withSpan("inside") { _ in } }
            }
            return request.spanID
        }
        let spans = tracer.finishedSpans
        let inside = spans.filter { $0.operationName == "inside" }
        #expect(inside.count == 3)
        #expect(spans.allSatisfy { $0.traceID == spans[0].traceID })
        let operations = spans.filter {
            ["block", "async", "BlockOperation"].contains($0.operationName)
        }
        #expect(operations.count == (isReported ? 3 : 0))
        #expect(operations.allSatisfy { $0.parentSpanID == request })
        let parents = isReported ? operations.map(\.spanID) : [request, request, request]
        #expect(inside.compactMap(\.parentSpanID).sorted() == parents.sorted())
    }

    @Test func queuesOfTestSchedulerReportSpans() throws {
        let tracer = InMemoryTracer()
        let scheduler = TestScheduler(seed: 1)
        let queue = scheduler.makeQueue()
        queue.reportTelemetry(logger: nil, metrics: nil, tracer: tracer)
        queue.add("async", .delay(.seconds(86_400))) {
            await Task.yield()
            tracer.withSpan("inside") { _ in }
        }
        queue.add("block") { tracer.withSpan("inside") { _ in } }
        try scheduler.run()
        let spans = tracer.finishedSpans
        let parents = spans.filter { $0.operationName != "inside" }.map(\.spanID)
        #expect(parents.count == 2)
        #expect(Set(spans.compactMap(\.parentSpanID)) == Set(parents))
    }

    @Test func currentTracerIsDefault() async {
        let tracer = InMemoryTracer()
        await withTracer(tracer) {
            let queue = OperationQueue()
            queue.reportTelemetry(logger: nil, metrics: nil)
            await queue.add("seen") {}.finished()
        }
        #expect(tracer.finishedSpans.map(\.operationName) == ["seen"])
    }
}
#endif
