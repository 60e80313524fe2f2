#if Telemetry
import CoreMetrics
import OperationsRuntime
import Operations

/// The metrics of a queue: for all operations together or, if the options say so, by the names of
/// operations.
final class QueueMetrics: Sendable {
    private struct State {
        var byName: [String: OperationMetrics] = [:]
        var isClosed = false
    }

    private let factory: any MetricsFactory
    private let queue: String
    private let nameLimit: Int?
    /// The metrics of all operations, or of the operations with names beyond the limit of names.
    private let common: OperationMetrics
    private let stalls: Counter
    private let refused: Counter
    private let dropped: Counter
    private let state = Locked(State())

    init(queue: String, options: TelemetryOptions, in factory: any MetricsFactory) {
        (self.queue, self.factory) = (queue, factory)
        nameLimit = options.includesOperationNames ? max(0, options.operationNameLimit) : nil
        let name = options.includesOperationNames ? [("operation.name", "other")] : []
        common = OperationMetrics([("operation.queue", queue)] + name, in: factory)
        func counter(_ label: String) -> Counter {
            Counter(label: label, dimensions: [("operation.queue", queue)], factory: factory)
        }
        stalls = counter("operations.stalls")
        refused = counter("operations.refused")
        dropped = counter("operations.dropped")
    }

    /// Returns what the sampler needs to know of the queue.
    func sampled(_ queue: OperationQueue, every interval: Duration) -> SampledQueue {
        SampledQueue(queue, named: self.queue, every: interval, in: factory)
    }

    func metrics(of operation: Operation) -> OperationMetrics {
        guard let nameLimit else { return common }
        let name = operation.nameForTelemetry
        let (known, isFull) = state.withLock { ($0.byName[name], $0.byName.count >= nameLimit) }
        if let known { return known }
        if isFull { return common }
        let new = OperationMetrics(
            [("operation.queue", queue), ("operation.name", name)], in: factory)
        let (chosen, isClosed) = state.withLock { state -> (OperationMetrics, Bool) in
            // Other threads may have added new names meanwhile.
            if let known = state.byName[name] { return (known, state.isClosed) }
            guard state.byName.count < nameLimit else { return (common, state.isClosed) }
            state.byName[name] = new
            return (new, state.isClosed)
        }
        if isClosed { chosen.close() }
        return chosen
    }

    func stalled() { stalls.increment() }

    /// An operation was not added, because the queue is full.
    func operationRefused() { refused.increment() }

    /// An operation was cancelled, because the queue is full.
    func operationDropped() { dropped.increment() }

    func close() {
        let named = state.withLock { state in
            state.isClosed = true
            return Array(state.byName.values)
        }
        for metrics in named + [common] { metrics.close() }
    }
}

extension Operation {
    /// The operation's name, or else its type.
    var nameForTelemetry: String {
        if let name, !name.isEmpty { return name }
        return "\(type(of: self))"
    }
}
#endif
