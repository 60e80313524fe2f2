/// Somebody who is told of each operation of a queue as it happens, for telemetry that cannot wait for a
/// timeline or for statistics.
///
/// Its methods are called on the thread where it happens, with no lock held, in the middle of the
/// scheduler's work: what they take, every operation takes longer. They must not wait.
package protocol OperationListener: Sendable {
    /// An operation is about to be put into the queue; called by the thread, and in the task, that adds it.
    func operationAdded(_ operation: Operation, to queue: OperationQueue)
    /// Its work begins on this thread.
    ///
    /// - Parameter waiting: how long it was ready; nil if that was not noted.
    func operationStarted(_ operation: Operation, in queue: OperationQueue, waiting: Duration?)
    /// Its work is over; nil for `running` if it never began.
    func operationEnded(
        _ operation: Operation, in queue: OperationQueue, outcome: OperationOutcome,
        running: Duration?)
}

extension OperationQueue {
    /// Lets somebody listen from now on, in place of who did before; nil for nobody.
    package func listen(_ listener: (any OperationListener)?) {
        let insight = ownInsight
        let previous = insight.listener.withLock { current in
            defer { current = listener }
            return current
        }
        withExtendedLifetime(previous) {}
        if listener == nil { end(.listener) } else { beginWatching(.listener) }
    }
}
