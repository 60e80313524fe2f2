/// Receives what happens to the operations of a queue, as it happens, for telemetry that cannot
/// wait for a timeline or for statistics.
///
/// A queue observer gives each operation that is added an operation observer, which
/// receives all later events. Operations that are in the queue when the observation begins have
/// none.
package protocol QueueObserver: AnyObject, Sendable {
    /// Returns the observer of an operation that is about to be added to the queue; nil for none.
    ///
    /// Called on the thread, and in the task, that adds the operation.
    func observer(of operation: Operation, in queue: OperationQueue) -> (any OperationObserver)?
    /// Called when the observer was removed, or replaced by another one: it gets no further
    /// operations.
    func observationEnded()
}

/// Receives the events of one operation.
///
/// The methods are called on the thread where the event happens, with no lock held, in the middle
/// of the scheduler's work: the time they take is added to the operation's. They must not wait. The
/// operation retains its observer, which must not retain the operation.
///
/// The order of calls is: added; then any number of times started and returned; then ended. An
/// operation may also end without having started. `observationEnded()` may overlap with any other
/// call. After that the observer receives no more calls, unless another queue observer has taken
/// over: then it may still receive the events of its operation, and must ignore them.
package protocol OperationObserver: AnyObject, Sendable {
    /// The queue observer that made this observer.
    var queueObserver: any QueueObserver { get }
    /// Called when this has become the observer of the operation.
    func operationAdded()
    /// Called when an attempt begins on this thread.
    ///
    /// - Parameter waiting: how long the operation was ready; nil if that was not recorded.
    func operationStarted(_ operation: Operation, waiting: Duration?)
    /// Calls the body on this thread: `start()`, or the code that runs in its place.
    ///
    /// For an async body this covers only its beginning. Each thread that helps to run the blocks
    /// of the operation makes one more call.
    func perform(_ body: () -> Void)
    /// Calls an async body, in its task.
    func perform(_ body: @Sendable () async -> Void) async
    /// Called when the deadline of the operation, or the timeout of an attempt, has passed. A
    /// running body is cancelled.
    func operationRanOutOfTime(_ operation: Operation, _ error: any Error)
    /// Called when an attempt has ended and another one will follow.
    func operationReturned(_ operation: Operation, _ attempt: OperationAttempt)
    /// Called when the operation has ended.
    func operationEnded(_ operation: Operation, _ end: OperationEnd)
    /// Called when the queue observer was removed or replaced.
    func observationEnded()
}

/// An attempt of an operation that will be followed by another one.
package struct OperationAttempt: Sendable {
    /// How long the attempt ran; nil if that was not recorded.
    package let running: Duration?
    /// The error because of which the operation is repeated; nil for a periodic operation whose run
    /// succeeded.
    package let error: (any Error)?
    /// How long the operation will be held back before the next attempt.
    package let delay: Duration
}

/// How an operation has ended.
package struct OperationEnd: Sendable {
    package let outcome: OperationOutcome
    /// How long the last attempt ran; nil if the operation never began, or did not begin again.
    package let running: Duration?
    /// The error, if the operation failed.
    package let error: (any Error)?
    /// The reason, if the operation was cancelled.
    package let reason: CancellationReason?
}

extension OperationQueue {
    /// Sets the observer of the queue from now on, in place of the previous one.
    package final func setObserver(_ observer: any QueueObserver) -> QueueObservation {
        let previous = ownInsight.observer.withLock { current in
            defer { current = observer }
            return current
        }
        beginWatching(.observer)
        if let previous {
            previous.observationEnded()
            Self.endObservation(
                by: previous, of: snapshot { $0.operations(includingBarriers: true) })
        }
        return QueueObservation(entry: QueueRegistry.entry(of: self), observer: observer)
    }

    /// Removes the observer. Returns false if it is not the queue's observer.
    fileprivate func removeObserver(_ observer: any QueueObserver) -> Bool {
        guard let insight = existingInsight else { return false }
        let isOurs = insight.observer.withLock { current in
            guard current === observer else { return false }
            current = nil
            return true
        }
        guard isOurs else { return false }
        end(.observer)
        // Another observer may have been set meanwhile.
        if insight.observer.withLock({ $0 != nil }) { begin(.observer) }
        return true
    }

    fileprivate static func endObservation(
        by queueObserver: any QueueObserver, of operations: [Operation]
    ) {
        for operation in operations {
            guard let observer = operation.operationObserver,
                observer.queueObserver === queueObserver
            else { continue }
            observer.observationEnded()
        }
    }
}

/// The registration of a queue observer. It retains the observer, but not the queue.
package struct QueueObservation: Sendable {
    fileprivate let entry: QueueRegistry.Entry
    fileprivate let observer: any QueueObserver

    /// Ends the observation, if the observer has not been replaced.
    ///
    /// Calls that have begun run to their end. On return the queue observer, and the observers of
    /// the operations in the queue, have received `observationEnded()`.
    package func end() {
        var isOurs = false
        var operations: [Operation] = []
        entry.withQueue { queue in
            isOurs = queue.removeObserver(observer)
            if isOurs { operations = queue.snapshot { $0.operations(includingBarriers: true) } }
        }
        guard isOurs else { return }
        observer.observationEnded()
        OperationQueue.endObservation(by: observer, of: operations)
    }
}

extension Operation {
    /// The observer of the operation; usually nil.
    package final var operationObserver: (any OperationObserver)? {
        existingExtras?.operationObserver
    }

    /// Sets the observer, just before the operation is added to the queue that has a queue
    /// observer.
    final func accept(_ observer: any OperationObserver) {
        let isAccepted = withExtras { extras in
            // If two threads add the operation at the same time, one of the two additions will be
            // refused.
            guard status.phase == .created, extras.operationObserver == nil else { return false }
            extras.operationObserver = observer
            return true
        }
        if isAccepted { observer.operationAdded() }
    }

    /// Notifies the observer that a deadline or timeout has passed.
    final func notifyOutOfTime(_ error: any Error) {
        guard let queue = retainedQueue(), queue.traces(for: .observer) else { return }
        operationObserver?.operationRanOutOfTime(self, error)
    }

    /// Returns how the operation has ended. The failure does not count as observed by this.
    final func end(_ outcome: OperationOutcome, running: Duration?) -> OperationEnd {
        let (failure, reason) = withExtras { ($0.failure, $0.cancellationReason) }
        return OperationEnd(
            outcome: outcome, running: running, error: outcome == .failed ? failure?.error : nil,
            reason: outcome == .cancelled ? reason ?? .requested : nil)
    }
}
