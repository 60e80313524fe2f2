package import OperationsRuntime

/// Receives what happens to the operations of a queue, as it happens.
///
/// The methods are called on the thread of the event, with no lock held, in the middle of the
/// scheduler's work: the time they take is added to the operation's. They must not wait, and must
/// not retain the operation for longer than the operation's own work. Tracing.md says when each
/// event is sent, and in which order.
///
/// A queue retains its observers as long as it exists. A call may still arrive shortly after
/// ``OperationQueue/endEvents(for:)``.
package protocol QueueObserver: AnyObject, Sendable {
    /// A queue has at most one observer of each kind.
    static var kind: QueueObserverKind { get }

    /// Receives an event of an operation.
    ///
    /// - Parameter thread: the calling thread.
    func receive(_ event: QueueEvent, of operation: Operation, on thread: ThreadContext)
    /// Called when this thread has been blocked inside the operation with the given identity. Does
    /// nothing by default.
    func threadWaited(
        inside operation: UInt, from start: UInt64, until end: UInt64, on thread: ThreadContext)
}

extension QueueObserver {
    package func threadWaited(
        inside operation: UInt, from start: UInt64, until end: UInt64, on thread: ThreadContext
    ) {}
}

/// What happens to an operation of a queue.
package enum QueueEvent {
    /// The operation is about to be added to the queue, on the thread, and in the task, that adds
    /// it. The addition may still be refused.
    ///
    /// This is the moment for ``Operation/accept(_:)``.
    case willBeAdded
    /// The operation was not added, because the queue is full, and the one who adds it does not
    /// wait any longer. No other event of it follows.
    case refused
    /// The operation has waited, and is now ready. The time it waits for its turn from now on is in
    /// the event of the start.
    case waited(for: QueueWait, from: UInt64, until: UInt64)
    /// An attempt begins on this thread.
    case started(OperationTimes)
    /// The deadline of the operation, or the timeout of an attempt, has passed. A running body is
    /// cancelled.
    case ranOutOfTime(any Error)
    /// An attempt has ended and another one will follow, after the operation has been held back for
    /// `delay`. The error is nil for a periodic operation whose run succeeded.
    case returned(OperationTimes, error: (any Error)?, delay: Duration)
    /// The operation has ended, with the last attempt.
    case ended(OperationTimes, OperationOutcome)
}

/// What an operation has waited for.
package enum QueueWait: Sendable {
    /// Other operations, or a point in time.
    case others
    /// Its turn in the queue, before it turned out that it has to wait for permits or tokens.
    case slot
    /// The permits of budgets.
    case permits
    /// The tokens of rate limits, and the permits of budgets if it needs both.
    case tokens
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
    /// Whether the attempt runs in a claim, from beginning to end on this thread.
    package var isInClaim = false

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
