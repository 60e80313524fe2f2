#if Telemetry
import CoreMetrics
import InMemoryLogging
import InMemoryTracing
import Logging
import MetricsTestKit
import Operations
import OperationsTelemetry
import Testing

/// A queue with backends that keep everything it reports.
struct Observed {
    let queue: OperationQueue
    let metrics = TestMetrics()
    let tracer = InMemoryTracer()
    let log = InMemoryLogHandler()
    let reports: TelemetryReports

    init(
        _ queue: OperationQueue = OperationQueue(), name: String? = "tests",
        level: Logger.Level = .trace, options: TelemetryOptions = TelemetryOptions()
    ) {
        self.queue = queue
        if let name { queue.name = name }
        var logger = Logger(label: "tests") { [log] _ in log }
        logger.logLevel = level
        reports = queue.reportTelemetry(
            logger: logger, metrics: metrics, tracer: tracer, options: options)
    }

    /// The sum of a counter.
    func count(_ label: String, _ dimensions: [(String, String)] = []) -> Int64 {
        metrics.counterTotal(label: label, dimensions: dimensions)
    }

    /// The number of operations that ended with an outcome.
    func ended(_ outcome: String) -> Int64 {
        count("operations.ended", [("operation.queue", "tests"), ("operation.outcome", outcome)])
    }

    /// The value of a gauge, summed over all dimensions.
    func gauge(_ label: String) -> Double {
        metrics.meters(label: label).reduce(0) { $0 + ($1.lastValue ?? 0) }
    }

    /// The values that a timer has recorded.
    func times(_ label: String, _ dimensions: [(String, String)] = []) -> [Int64] {
        metrics.timers(label: label, dimensions: dimensions).flatMap(\.values)
    }

    /// The log, as lines of level, message and operation.
    var lines: [String] {
        log.entries.map { "\($0.level): \($0.message) \($0.metadata["operation.name"] ?? "")" }
    }

    func spans(_ name: String) -> [FinishedInMemorySpan] {
        tracer.finishedSpans.filter { $0.operationName == name }
    }

    /// Waits until everything has left the queue.
    func drain() async { await queue.finished() }
}

struct Broken: Error, CustomStringConvertible {
    var description: String { "no connection" }
}

extension TypedOperation {
    /// Waits for a deliberate failure and reads its error: it is then not reported as unobserved.
    func fails() async {
        await finished()
        #expect(error != nil)
    }
}
#endif
