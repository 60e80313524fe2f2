#if Telemetry
import CoreMetrics
import Operations

/// The metrics of a queue, or of its operations of one name.
///
/// All metrics are made at once, so that a backend has a zero for events that have not happened
/// yet. They are kept, because another queue of the same name may use the same metrics.
final class OperationMetrics: Sendable {
    /// The outcome of an operation, or of an attempt.
    enum Outcome: String, CaseIterable {
        case finished
        case failed
        /// The operation failed because its time had passed.
        case expired
        case cancelled
        /// The attempt failed, but another one follows. Operations do not end with this outcome.
        case retried
    }

    let pending: MeterShare
    let executing: MeterShare
    private let added: Counter
    private let retried: Counter
    private let waiting: CoreMetrics.Timer
    private let budget: CoreMetrics.Timer
    private let rate: CoreMetrics.Timer
    private let ended: [Counter]
    private let running: [CoreMetrics.Timer]

    init(_ dimensions: [(String, String)], in factory: any MetricsFactory) {
        func counter(_ label: String, _ more: [(String, String)] = []) -> Counter {
            Counter(label: label, dimensions: dimensions + more, factory: factory)
        }
        func meter(_ label: String) -> MeterShare {
            MeterShare(Meter(label: label, dimensions: dimensions, factory: factory))
        }
        func timer(_ label: String, _ more: [(String, String)] = []) -> CoreMetrics.Timer {
            CoreMetrics.Timer(
                label: label, dimensions: dimensions + more, preferredDisplayUnit: .seconds,
                factory: factory)
        }
        added = counter("operations.added")
        retried = counter("operations.retried")
        pending = meter("operations.pending")
        executing = meter("operations.executing")
        waiting = timer("operations.waiting.duration")
        budget = timer("operations.permits.waiting.duration", [("operation.permits", "budget")])
        rate = timer("operations.permits.waiting.duration", [("operation.permits", "rate")])
        ended = Outcome.allCases.filter { $0 != .retried }
            .map { counter("operations.ended", [("operation.outcome", $0.rawValue)]) }
        running = Outcome.allCases
            .map { timer("operations.running.duration", [("operation.outcome", $0.rawValue)]) }
    }

    func operationAdded() {
        added.increment()
        pending.add(1)
    }

    /// - Parameter time: how long the operation was ready, if that is known.
    func attemptBegan(waiting time: Duration?) {
        pending.add(-1)
        executing.add(1)
        if let time { waiting.record(time) }
    }

    /// - Parameter areTokens: whether the operation has waited for a rate limit.
    func permitsCame(after time: Duration, areTokens: Bool) {
        (areTokens ? rate : budget).record(time)
    }

    /// - Parameter time: how long the attempt ran, if that is known.
    func attemptEnded(_ outcome: Outcome, running time: Duration?) {
        executing.add(-1)
        pending.add(1)
        if let time { running[outcome.index].record(time) }
        if outcome == .retried { retried.increment() }
    }

    /// - Parameters:
    ///   - time: how long the last attempt ran, if one did.
    ///   - hadBegun: whether an attempt was under way.
    func operationEnded(_ outcome: Outcome, running time: Duration?, hadBegun: Bool) {
        (hadBegun ? executing : pending).add(-1)
        ended[outcome.index].increment()
        if let time { running[outcome.index].record(time) }
    }

    /// Subtracts the queue's share from the gauges.
    func close() {
        pending.close()
        executing.close()
    }
}

extension OperationMetrics.Outcome {
    init(_ end: OperationEnd) {
        switch end.outcome {
        case .finished: self = .finished
        case .cancelled: self = .cancelled
        case .failed:
            let isLate = end.error is OperationTimeout || end.error is OperationDeadlineExceeded
            self = isLate ? .expired : .failed
        }
    }

    /// The position of this case among all cases.
    fileprivate var index: Int {
        switch self {
        case .finished: 0
        case .failed: 1
        case .expired: 2
        case .cancelled: 3
        case .retried: 4
        }
    }
}

extension CoreMetrics.Timer {
    func record(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        recordNanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
#endif
