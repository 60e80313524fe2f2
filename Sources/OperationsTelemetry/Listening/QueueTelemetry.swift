import CoreMetrics
import Logging
import Operations
import Synchronization
import Tracing

/// Listens to a queue on behalf of one call of `reportTelemetry`.
///
/// The queue keeps it, and so do the operations that were added while it listened; it keeps neither.
final class QueueTelemetry: QueueObserver {
    let queue: String
    let log: QueueLog?
    let metrics: QueueMetrics?
    let tracer: (any Tracer)?
    private let isOver = Atomic<Bool>(false)
    private let stallLimit: Duration?
    private let stalls = Locked<OperationQueueStallReports?>(nil)

    init(
        queue: String, logger: Logger?, metrics: (any MetricsFactory)?, tracer: (any Tracer)?,
        options: TelemetryOptions
    ) {
        self.queue = queue
        log = logger.map { QueueLog($0, queue: queue) }
        self.metrics = metrics.map { QueueMetrics(queue: queue, options: options, in: $0) }
        self.tracer = tracer
        stallLimit = log == nil && metrics == nil ? nil : options.stallLimit
    }

    /// The queue goes away, and with it what it was asked to do.
    deinit { stalls.withLock { $0 }?.end() }

    /// Whether there is anybody to report to.
    var isWanted: Bool { log != nil || metrics != nil || tracer != nil }

    /// Reports the queue's stalls, if anybody wants to know.
    func watchStalls(of queue: OperationQueue) {
        guard let stallLimit else { return }
        // What is called must not keep this: it would be kept until somebody looks at the queue again.
        let reports = queue.reportStalls(after: stallLimit) { [log, metrics] stall in
            metrics?.stalled()
            log?.stalled(stall)
        }
        let isLate = stalls.withLock { stalls in
            stalls = reports
            return isOver.load(ordering: .acquiring)
        }
        if isLate { reports.end() }
    }

    // MARK: Listening

    func witness(of operation: Operation, in queue: OperationQueue) -> (any OperationObserver)? {
        if operation.isBarrier, tracer == nil { return nil }
        return OperationTelemetry(
            self, metrics: operation.isBarrier ? nil : metrics?.metrics(of: operation),
            parent: tracer == nil ? nil : ServiceContext.current ?? .topLevel)
    }

    func listeningEnded() {
        isOver.store(true, ordering: .releasing)
        metrics?.close()
        stalls.withLock { $0 }?.end()
    }

    /// Whether nobody wants to know any more.
    var hasEnded: Bool { isOver.load(ordering: .acquiring) }
}
