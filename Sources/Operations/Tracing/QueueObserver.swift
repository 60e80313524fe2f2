/// Receives what happens to the operations of a queue, as it happens.
///
/// The methods are called on the thread of the event, with no lock held, in the middle of the
/// scheduler's work: the time they take is added to the operation's. They must not wait, and must
/// not retain the operation for longer than the operation's own work. Each does nothing by default.
/// Tracing.md says when each method is called, and in which order.
///
/// A queue retains its observers as long as it exists. A call may still arrive shortly after
/// ``OperationQueue/endEvents(for:)``.
package protocol QueueObserver: AnyObject, Sendable {
    /// A queue has at most one observer of each kind.
    static var kind: QueueObserverKind { get }

    /// Called when the operation is about to be added to the queue, on the thread, and in the task,
    /// that adds it. The addition may still be refused.
    ///
    /// This is the moment for ``Operation/accept(_:)``.
    func operationWillBeAdded(_ operation: Operation)
    /// Called when the operation has waited, for other operations or for permits, and is now ready.
    func operationWaited(
        _ operation: Operation, from start: UInt64, until end: UInt64, on thread: ThreadContext)
    /// Called when an attempt begins on this thread.
    func operationStarted(
        _ operation: Operation, _ attempt: OperationTimes, on thread: ThreadContext)
    /// Called when the deadline of the operation, or the timeout of an attempt, has passed. A
    /// running body is cancelled.
    func operationRanOutOfTime(_ operation: Operation, _ error: any Error)
    /// Called when an attempt has ended and another one will follow.
    ///
    /// - Parameters:
    ///   - error: the error because of which the operation is repeated; nil for a periodic
    ///     operation whose run succeeded.
    ///   - delay: how long the operation will be held back before the next attempt.
    func operationReturned(
        _ operation: Operation, _ attempt: OperationTimes, error: (any Error)?, delay: Duration,
        on thread: ThreadContext)
    /// Called when the operation has ended.
    ///
    /// - Parameter attempt: the last attempt.
    func operationEnded(
        _ operation: Operation, _ attempt: OperationTimes, _ outcome: OperationOutcome,
        on thread: ThreadContext)
    /// Called when this thread has been blocked inside the operation with the given identity.
    func threadWaited(
        inside operation: UInt, from start: UInt64, until end: UInt64, on thread: ThreadContext)
}

extension QueueObserver {
    package func operationWillBeAdded(_ operation: Operation) {}
    package func operationWaited(
        _ operation: Operation, from start: UInt64, until end: UInt64, on thread: ThreadContext
    ) {}
    package func operationStarted(
        _ operation: Operation, _ attempt: OperationTimes, on thread: ThreadContext
    ) {}
    package func operationRanOutOfTime(_ operation: Operation, _ error: any Error) {}
    package func operationReturned(
        _ operation: Operation, _ attempt: OperationTimes, error: (any Error)?, delay: Duration,
        on thread: ThreadContext
    ) {}
    package func operationEnded(
        _ operation: Operation, _ attempt: OperationTimes, _ outcome: OperationOutcome,
        on thread: ThreadContext
    ) {}
    package func threadWaited(
        inside operation: UInt, from start: UInt64, until end: UInt64, on thread: ThreadContext
    ) {}
}

/// What an observer is for. Observers of one queue are called in this order.
package enum QueueObserverKind: UInt8, CaseIterable, Sendable {
    case timeline
    case statistics
    case telemetry
}

/// The times of an attempt of an operation, as far as they were recorded, and what an observer
/// needs to know of the operation besides.
///
/// Times are nanoseconds of one monotonic clock, in steps of four. A time that is unknown, or that
/// has not come, is 0.
package struct OperationTimes: Sendable {
    /// When the operation was added, if it is not known to have been ready before it began.
    package var added: UInt64 = 0
    /// When only the queue held the operation back.
    package var ready: UInt64 = 0
    /// When the attempt began; 0 if it did not.
    package var start: UInt64 = 0
    package var end: UInt64 = 0
    /// The operation's priority, as in `Operation.QueuePriority(lane:)`.
    package var lane: UInt8
    package var isBarrier: Bool
    /// Whether the attempt runs in a batch, from beginning to end on this thread.
    package var isInBatch = false

    /// How long the operation was ready before it began; nil if that is unknown.
    package var waiting: UInt64? {
        if ready > 0 { return start > ready ? start - ready : 0 }
        // The operation became ready when the one before it ended, and followed at once.
        return added > 0 ? 0 : nil
    }

    /// How long the attempt ran; nil if it did not begin.
    package var running: UInt64? { start == 0 ? nil : end > start ? end - start : 0 }
}

extension Instrumentation {
    /// An observer of the given kind receives the queue's events.
    static func observed(by kind: QueueObserverKind) -> Instrumentation {
        Instrumentation(rawValue: 2 << kind.rawValue)
    }
}
