import Operations

/// The state of one queue, for display.
public struct QueueGauge: Sendable, Hashable {
    /// The queue's name.
    public let name: String
    /// The number of operations that have not started.
    public let waiting: Int
    /// The number of running operations.
    public let running: Int
    /// The number of operations that ended without failing or being cancelled, since the beginning.
    public let finished: Int
    /// The number of operations that failed, since the beginning.
    public let failed: Int
    /// The number of operations that were cancelled, since the beginning.
    public let cancelled: Int
    /// Whether the queue is suspended, so that no operation starts.
    public let isSuspended: Bool
    /// The maximum number of simultaneous operations; nil for the queue's default.
    public let width: Int?
}

/// Counts the operations of a queue that have finished.
struct QueueTally {
    private var finished = 0
    private var failed = 0
    private var cancelled = 0

    /// Counts an operation. Reading its error also marks the failure as observed: the failure of a
    /// row that now shows another photo needs no report.
    mutating func operationFinished(_ operation: Operation) {
        let error = operation.error
        if operation.isCancelled {
            cancelled += 1
        } else if error != nil {
            failed += 1
        } else {
            finished += 1
        }
    }

    func gauge(of queue: OperationQueue) -> QueueGauge {
        let operations = queue.operations
        let running = operations.count { $0.isExecuting }
        let width = queue.maxConcurrentOperationCount
        return QueueGauge(
            name: queue.name ?? "", waiting: operations.count - running, running: running,
            finished: finished, failed: failed, cancelled: cancelled,
            isSuspended: queue.isSuspended,
            width: width < 0 ? nil : width)
    }
}
