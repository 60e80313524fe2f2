#if Telemetry
import OperationsRuntime
import Operations

/// Passes the events of a queue on to the telemetry of each operation.
///
/// The queue keeps this object as long as it exists. The telemetry of the current call of
/// `reportTelemetry` can be replaced.
final class TelemetryObserver: QueueObserver {
    static var kind: QueueObserverKind { .telemetry }

    private let current = Locked<QueueTelemetry?>(nil)

    /// Returns the telemetry that `new` replaces.
    func replace(by new: QueueTelemetry) -> QueueTelemetry? {
        current.withLock { current in
            defer { current = new }
            return current
        }
    }

    /// Removes a telemetry. Returns false if it was not the current one.
    func remove(_ telemetry: QueueTelemetry) -> Bool {
        current.withLock { current in
            guard current === telemetry else { return false }
            current = nil
            return true
        }
    }

    var isInUse: Bool { current.withLock { $0 != nil } }

    // MARK: Events

    func receive(_ event: QueueEvent, of operation: Operation, on thread: ThreadContext) {
        if case .willBeAdded = event { return willAdd(operation) }
        if case .refused = event { return refused() }
        guard let telemetry = operation.telemetry else { return log(event, of: operation) }
        switch event {
        case .willBeAdded, .refused: break
        case .waited(for: let wait, let start, let end):
            telemetry.operationWaited(for: wait, .nanoseconds(Int64(clamping: end - start)))
        case .started(let attempt):
            telemetry.operationStarted(operation, waiting: .nanoseconds(attempt.waiting))
        case .ranOutOfTime(let error): telemetry.operationRanOutOfTime(operation, error)
        case .returned(let attempt, let error, let delay):
            telemetry.operationReturned(
                operation,
                OperationAttempt(
                    running: .nanoseconds(attempt.running), error: error, delay: delay))
        case .ended(let attempt, let outcome):
            telemetry.operationEnded(operation, OperationEnd(operation, outcome, attempt))
        }
    }

    /// Logs what is worth a message, of an operation without telemetry of its own.
    private func log(_ event: QueueEvent, of operation: Operation) {
        switch event {
        case .willBeAdded, .refused, .waited, .started, .ended(_, .finished): return
        case .ranOutOfTime, .returned, .ended: break
        }
        guard !operation.isBarrier, let telemetry = current.withLock({ $0 }), telemetry.onlyLogs
        else { return }
        telemetry.logEvent(event, of: operation)
    }

    private func refused() {
        guard let telemetry = current.withLock({ $0 }), !telemetry.hasEnded else { return }
        telemetry.metrics?.operationRefused()
    }

    private func willAdd(_ operation: Operation) {
        guard let own = current.withLock({ $0 })?.telemetry(of: operation) else { return }
        if operation.accept(own) { own.operationAdded() }
    }
}

extension Operation {
    /// The telemetry of the operation; nil if it is not reported.
    var telemetry: OperationTelemetry? { operationObserver as? OperationTelemetry }
}

extension OperationEnd {
    init(_ operation: Operation, _ outcome: OperationOutcome, _ attempt: OperationTimes) {
        let (error, reason) = operation.cause(of: outcome)
        self.init(
            outcome: outcome, running: .nanoseconds(attempt.running), error: error, reason: reason)
    }
}

extension Duration? {
    static func nanoseconds(_ count: UInt64?) -> Duration? {
        count.map { .nanoseconds(Int64(clamping: $0)) }
    }
}

// MARK: Beginning and ending

extension OperationQueue {
    /// Reports to a telemetry from now on, in place of the previous one.
    final func begin(_ telemetry: QueueTelemetry) -> TelemetryRegistration {
        let observer = observer { TelemetryObserver() }
        let previous = observer.replace(by: telemetry)
        beginEvents(for: .telemetry)
        if let previous {
            previous.end()
            previous.end(reportsOf: operationsNotLeft)
        }
        return TelemetryRegistration(entry: QueueRegistry.entry(of: self), telemetry: telemetry)
    }
}

/// The registration of a telemetry with its queue. It retains the telemetry, but not the queue.
struct TelemetryRegistration: Sendable {
    fileprivate let entry: QueueRegistry.Entry
    fileprivate let telemetry: QueueTelemetry

    /// Ends the reports, if the telemetry has not been replaced.
    ///
    /// Calls that have begun run to their end. On return the reports of the queue, and of the
    /// operations in the queue, have ended.
    ///
    /// The order of the steps decides that each span ends:
    ///
    /// 1. The observer forgets the telemetry. Operations that are added from now on do not get it.
    /// 2. The telemetry is over. No operation begins a span from now on.
    /// 3. The spans of all operations that have not left the queue end. An operation that has left
    ///    has reported its end before, because the queue has sent its events until now.
    /// 4. The events end, unless other reports have begun meanwhile.
    func end() {
        guard let queue = entry.queue,
            let observer = queue.existingObserver(TelemetryObserver.self),
            observer.remove(telemetry)
        else { return }
        telemetry.end()
        telemetry.end(reportsOf: queue.operationsNotLeft)
        queue.endEvents(for: .telemetry) { observer.isInUse }
    }
}
#endif
