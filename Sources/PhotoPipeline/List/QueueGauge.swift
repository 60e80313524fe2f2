import Operations

/// What one queue is doing, for people who watch.
public struct QueueGauge: Sendable, Hashable {
    /// The queue's name.
    public let name: String
    /// Operations that have not started.
    public let waiting: Int
    /// Operations that run.
    public let running: Int
    /// Operations that have ended without being cancelled, since the beginning.
    public let finished: Int
    /// Operations that were cancelled, since the beginning.
    public let cancelled: Int
    /// Whether nothing new is started.
    public let isSuspended: Bool
    /// How many may run at the same time; nil for as many as make sense.
    public let width: Int?
}

/// Counts what has left a queue.
struct QueueTally {
    private var finished = 0
    private var cancelled = 0

    mutating func left(isCancelled: Bool) {
        if isCancelled { cancelled += 1 } else { finished += 1 }
    }

    func gauge(of queue: OperationQueue) -> QueueGauge {
        let operations = queue.operations
        let running = operations.count { $0.isExecuting }
        let width = queue.maxConcurrentOperationCount
        return QueueGauge(
            name: queue.name ?? "", waiting: operations.count - running, running: running,
            finished: finished, cancelled: cancelled, isSuspended: queue.isSuspended,
            width: width < 0 ? nil : width)
    }
}
