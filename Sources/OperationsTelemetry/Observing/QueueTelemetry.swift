#if Telemetry
import CoreMetrics
import OperationsRuntime
import Logging
import Operations
import OperationsInsight
import Synchronization
import Tracing

/// Reports on a queue for one call of `reportTelemetry`.
///
/// The queue retains this object, and so do the operations that were added while it was the queue's
/// telemetry. This object retains neither.
final class QueueTelemetry: Sendable {
    let queue: String
    let log: QueueLog?
    let metrics: QueueMetrics?
    let tracer: (any Tracer)?
    private let isOver = Atomic<Bool>(false)
    private let stallLimit: Duration?
    private let operationLimit: Duration?
    private let samplingInterval: Duration?
    private let stalls = Locked<OperationQueueStallReports?>(nil)
    private let samples = Locked<SampledQueue?>(nil)

    init(
        queue: String, logger: Logger?, metrics: (any MetricsFactory)?, tracer: (any Tracer)?,
        options: TelemetryOptions
    ) {
        self.queue = queue
        log = logger.map { QueueLog($0, queue: queue) }
        self.metrics = metrics.map { QueueMetrics(queue: queue, options: options, in: $0) }
        self.tracer = tracer
        stallLimit = log == nil && metrics == nil ? nil : options.stallLimit
        operationLimit = options.operationLimit
        samplingInterval = options.samplingInterval
    }

    /// The queue no longer exists, so there is nothing left to report.
    deinit { endLooking() }

    /// Whether there is any backend to report to.
    var isWanted: Bool { log != nil || metrics != nil || tracer != nil }

    /// Reports the queue's stalls, if a backend takes such reports.
    func watchStalls(of queue: OperationQueue) {
        guard let stallLimit else { return }
        // The handler must not retain this object, which would otherwise live until the next
        // sample of the queue.
        let reports = queue.reportStalls(after: stallLimit, operationLimit: operationLimit) {
            [log, metrics] stall in
            metrics?.stalled()
            log?.stalled(stall)
        }
        let isLate = stalls.withLock { stalls in
            stalls = reports
            return isOver.load(ordering: .acquiring)
        }
        if isLate { reports.end() }
    }

    /// Samples the queue, and the worker threads, for the metrics.
    func sample(_ queue: OperationQueue) {
        guard let metrics, let samplingInterval else { return }
        let sampled = metrics.sampled(queue, every: samplingInterval)
        MetricsSampler.shared.add(sampled)
        let isLate = samples.withLock { samples in
            samples = sampled
            return isOver.load(ordering: .acquiring)
        }
        if isLate { MetricsSampler.shared.remove(sampled) }
    }

    private func endLooking() {
        stalls.withLock { $0 }?.end()
        if let sampled = samples.withLock({ $0 }) { MetricsSampler.shared.remove(sampled) }
    }

    /// Whether the queue reports to nothing but a logger. Operations then need no telemetry of
    /// their own: only those are reported that fail, are cancelled or are tried again.
    var onlyLogs: Bool { metrics == nil && tracer == nil }

    /// Logs the end of an operation that failed or was cancelled.
    ///
    /// A failure that the program expects is nobody's business. Another one is an error only if
    /// nothing observes it, which is known when the operation is released.
    ///
    /// - Parameter context: the context in which metadata providers find the span; nil for the one
    ///   of the caller.
    func logEnd(of operation: Operation, _ end: OperationEnd, in context: ServiceContext?) {
        guard let log else { return }
        func inContext(_ report: () -> Void) {
            if let context {
                ServiceContext.withValue(context, operation: report)
            } else {
                report()
            }
        }
        guard end.outcome == .failed else { return inContext { log.ended(operation, end) } }
        if operation.failureIsExpected { return }
        inContext { log.ended(operation, end) }
        guard log.takesErrors else { return }
        let failure = log.failure(operation, end)
        operation.reportFailure { [self] in
            if hasEnded { return false }
            if let context {
                ServiceContext.withValue(context, operation: failure)
            } else {
                failure()
            }
            return true
        }
    }

    /// Logs an event of an operation without telemetry of its own.
    func logEvent(_ event: QueueEvent, of operation: Operation) {
        switch event {
        case .willBeAdded, .refused, .waited, .started, .ended(_, .finished): break
        case .ranOutOfTime(let error): log?.ranOutOfTime(operation, error)
        case .returned(let attempt, let error, let delay):
            log?.returned(
                operation,
                OperationAttempt(
                    running: .nanoseconds(attempt.running), error: error, delay: delay),
                number: operation.endedAttempts)
        case .ended(let attempt, let outcome):
            logEnd(of: operation, OperationEnd(operation, outcome, attempt), in: nil)
        }
    }

    /// Makes the telemetry of an operation that is about to be added to the queue; nil for none.
    ///
    /// Called on the thread, and in the task, that adds the operation.
    func telemetry(of operation: Operation) -> OperationTelemetry? {
        if onlyLogs || (operation.isBarrier && tracer == nil) { return nil }
        return OperationTelemetry(
            self, metrics: operation.isBarrier ? nil : metrics?.metrics(of: operation),
            parent: tracer == nil ? nil : ServiceContext.current ?? .topLevel,
            values: tracer == nil || operation.hasAsyncBody ? nil : TaskLocalValues(for: operation))
    }

    /// Ends the reports of the queue: stalls, and the queue's share of the gauges.
    func end() {
        isOver.store(true, ordering: .releasing)
        metrics?.close()
        endLooking()
    }

    /// Ends the reports of operations that were added while this was the queue's telemetry.
    func end(reportsOf operations: [Operation]) {
        for operation in operations {
            guard let own = operation.telemetry, own.telemetry === self else { continue }
            own.end()
        }
    }

    /// Whether the reports have ended.
    var hasEnded: Bool { isOver.load(ordering: .acquiring) }
}
#endif
