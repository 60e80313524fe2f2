#if DurableJobs && Telemetry
import CoreMetrics
import DurableJobs
import DurableJobsTelemetry
import InMemoryLogging
import InMemoryTracing
import Logging
import MetricsTestKit
import Operations
import OperationsRuntime
import Testing
import Tracing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A new store in a file, with backends that keep everything that a queue object reports.
struct Observed {
    let queue: JobQueue
    /// The file of the store.
    let path: String
    let metrics = TestMetrics()
    let tracer = InMemoryTracer()
    let log = InMemoryLogHandler()
    let reports: JobTelemetryReports

    /// Calls a function with a queue that reports, and closes the queue.
    static func run(
        _ options: JobTelemetryOptions = JobTelemetryOptions(),
        _ body: (Observed) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(component: "jobs-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = "\(folder)/jobs.sqlite"
        let queue = try await JobQueue("tests", in: .file(path))
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(Observed(queue, path, options)))
        } catch {
            result = .failure(error)
        }
        await queue.close()
        try result.get()
    }

    init(
        _ queue: JobQueue, _ path: String, _ options: JobTelemetryOptions = JobTelemetryOptions()
    ) {
        (self.queue, self.path) = (queue, path)
        var logger = Logger(label: "tests") { [log] _ in log }
        logger.logLevel = .trace
        reports = queue.reportTelemetry(
            logger: logger, metrics: metrics, tracer: tracer, options: options)
    }

    /// Runs a worker of the queue while a function runs, and then stops it gracefully.
    func withWorker(
        observer: (@Sendable (JobWorkerEvent) -> Void)? = nil, _ body: () async throws -> Void
    ) async throws {
        var options = JobWorker.Options()
        options.observer = observer
        options.values.provide(tracer)
        let worker = JobWorker(
            queue, performing: [Inspect.self, Spawn.self], on: OperationQueue(), options: options)
        let run = Task { try await worker.run() }
        let result: Result<Void, any Error>
        do { result = .success(try await body()) } catch { result = .failure(error) }
        worker.stop()
        try await run.value
        try result.get()
    }

    /// The sum of a counter of the queue, or the number of values that a timer has recorded.
    func count(_ label: String, _ more: (String, String)...) -> Int {
        let dimensions = [("job.queue", "tests")] + more
        return Int(metrics.counterTotal(label: label, dimensions: dimensions))
            + metrics.timers(label: label, dimensions: dimensions).reduce(0) {
                $0 + $1.values.count
            }
    }

    func gauge(_ label: String, _ more: (String, String)...) -> Double? {
        metrics.meters(label: label, dimensions: [("job.queue", "tests")] + more).first?.lastValue
    }

    /// Reports an event as a worker of the queue does.
    func report(_ event: JobWorkerEvent) {
        queue.observer.withLock { $0 }?.workerReports(event)
    }

    /// The finished spans of a name, in the order of their ends.
    func spans(_ name: String) -> [FinishedInMemorySpan] {
        tracer.finishedSpans.filter { $0.operationName == name }
    }
}

extension FinishedInMemorySpan {
    func attribute(_ name: String) -> SpanAttribute? { attributes[name]?.toSpanAttribute() }
}

struct Broken: Error, CustomStringConvertible {
    var description: String { "no connection" }
}

// MARK: Jobs of the tests

/// Makes a span, fails on its first attempts, and returns the number of the attempt.
struct Inspect: Job {
    static let name = "inspect"
    var failures = 0

    func perform(in context: JobContext) async throws -> Int {
        await Task.yield()
        try context.provided(InMemoryTracer.self).withSpan("inside") { _ in }
        if context.attempt <= failures { throw Broken() }
        return context.attempt
    }
}

/// Enqueues another job.
struct Spawn: Job {
    static let name = "spawn"

    func perform(in context: JobContext) async throws -> JobHandle<Int> {
        try await context.queue.enqueue(Inspect())
    }
}
#endif
