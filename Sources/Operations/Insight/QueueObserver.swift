/// Somebody who is told of what happens to the operations of a queue, as it happens, for telemetry that cannot
/// wait for a timeline or for statistics.
///
/// It gives each operation that is added a witness, which is told of all the rest; what is in the queue when
/// listening begins has none.
package protocol QueueObserver: AnyObject, Sendable {
    /// Who is to be told of an operation that is about to be put into the queue; nil for nobody. Called by the
    /// thread, and in the task, that adds it.
    func witness(of operation: Operation, in queue: OperationQueue) -> (any OperationObserver)?
    /// It was put out of its place, or another one has taken it; it gets no further operations.
    func listeningEnded()
}

/// Somebody who is told of one operation.
///
/// Its methods are called on the thread where it happens, with no lock held, in the middle of the
/// scheduler's work: what they take, the operation takes longer. They must not wait. The operation keeps its
/// witness, which must not keep the operation.
///
/// The order is added, then any number of times started and returned, then ended; but an operation may
/// also end without having started. That its listener was put out of its place may overlap with anything else;
/// after that it is told no more, or, if another one listens, goes on being told what does not concern it.
package protocol OperationObserver: AnyObject, Sendable {
    /// Who has given it.
    var listener: any QueueObserver { get }
    /// It is the operation's witness now.
    func operationAdded()
    /// An attempt begins on this thread.
    ///
    /// - Parameter waiting: how long it was ready; nil if that was not noted.
    func operationStarted(_ operation: Operation, waiting: Duration?)
    /// Calls the body, on this thread: `start()`, or what is run in place of it. For async work that is only where
    /// it begins. Also called once more for each thread that helps.
    func perform(_ body: () -> Void)
    /// Calls an async body, in its task.
    func perform(_ body: @Sendable () async -> Void) async
    /// Its time is over, or that of an attempt; the body, if it runs, is told to stop.
    func operationRanOutOfTime(_ operation: Operation, _ error: any Error)
    /// An attempt has ended, and another one will follow.
    func operationReturned(_ operation: Operation, _ attempt: OperationAttempt)
    /// It is over.
    func operationEnded(_ operation: Operation, _ end: OperationEnd)
    /// Its listener was put out of its place.
    func listeningEnded()
}

/// An attempt of an operation that will be followed by another one.
package struct OperationAttempt: Sendable {
    /// How long it ran; nil if that was not noted.
    package let running: Duration?
    /// Why it is repeated; nil if it is periodic, and has succeeded.
    package let error: (any Error)?
    /// How long the next one will be held back.
    package let delay: Duration
}

/// How an operation has ended.
package struct OperationEnd: Sendable {
    package let outcome: OperationOutcome
    /// How long it ran, the last time; nil if it never began, or not again.
    package let running: Duration?
    /// What it failed with, if it failed.
    package let error: (any Error)?
    /// Why it was cancelled, if it was cancelled.
    package let reason: CancellationReason?
}

extension OperationQueue {
    /// Lets somebody listen from now on, in place of who did before.
    package final func listen(_ listener: any QueueObserver) -> QueueObservation {
        let previous = ownInsight.listener.withLock { current in
            defer { current = listener }
            return current
        }
        beginWatching(.listener)
        if let previous {
            previous.listeningEnded()
            Self.endListening(of: previous, to: snapshot { $0.operations(includingBarriers: true) })
        }
        return QueueObservation(entry: QueueRegistry.entry(of: self), listener: listener)
    }

    /// False if it does not listen.
    fileprivate func forget(_ listener: any QueueObserver) -> Bool {
        guard let insight = existingInsight else { return false }
        let isOurs = insight.listener.withLock { current in
            guard current === listener else { return false }
            current = nil
            return true
        }
        guard isOurs else { return false }
        end(.listener)
        // Another one may have come in between.
        if insight.listener.withLock({ $0 != nil }) { begin(.listener) }
        return true
    }

    fileprivate static func endListening(
        of listener: any QueueObserver, to operations: [Operation]
    ) {
        for operation in operations {
            guard let witness = operation.witness, witness.listener === listener else { continue }
            witness.listeningEnded()
        }
    }
}

/// Puts a listener out of its place. It keeps the listener, but not the queue.
package struct QueueObservation: Sendable {
    fileprivate let entry: QueueRegistry.Entry
    fileprivate let listener: any QueueObserver

    /// Tells nothing more, except where that has begun. The listener, and the witnesses of what is in the queue,
    /// know of it on return.
    package func end() {
        var isOurs = false
        var operations: [Operation] = []
        entry.withQueue { queue in
            isOurs = queue.forget(listener)
            if isOurs { operations = queue.snapshot { $0.operations(includingBarriers: true) } }
        }
        guard isOurs else { return }
        listener.listeningEnded()
        OperationQueue.endListening(of: listener, to: operations)
    }
}

extension Operation {
    /// Who is told of it; nobody, as a rule.
    package final var witness: (any OperationObserver)? { existingExtras?.witness }

    /// It is about to be put into a queue, whose listener wants to know.
    final func accept(_ witness: any OperationObserver) {
        let isAccepted = withExtras { extras in
            // Of two who add it at the same time one will be refused.
            guard status.phase == .created, extras.witness == nil else { return false }
            extras.witness = witness
            return true
        }
        if isAccepted { witness.operationAdded() }
    }

    /// Its time is over.
    final func notifyOutOfTime(_ error: any Error) {
        guard let queue = retainedQueue(), queue.traces(for: .listener) else { return }
        witness?.operationRanOutOfTime(self, error)
    }

    /// How it has ended, without looking at its failure on behalf of anybody.
    final func end(_ outcome: OperationOutcome, running: Duration?) -> OperationEnd {
        let (failure, reason) = withExtras { ($0.failure, $0.cancellationReason) }
        return OperationEnd(
            outcome: outcome, running: running, error: outcome == .failed ? failure?.error : nil,
            reason: outcome == .cancelled ? reason ?? .requested : nil)
    }
}
