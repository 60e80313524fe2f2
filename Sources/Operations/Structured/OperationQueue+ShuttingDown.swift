import OperationsRuntime

extension OperationQueue {
    /// Whether the queue was shut down, and takes no more operations; see
    /// ``shutDown(grace:cancelsWaiting:)``.
    public final var isShutDown: Bool { hasStep(.refusing) }

    /// Shuts the queue down. Its operations have a time to end, and the queue then cancels those
    /// that are left. The method returns when the queue is empty.
    ///
    /// ```swift
    /// await server.close()
    /// await queue.shutDown()
    /// ```
    ///
    /// From the call on, the queue refuses operations: one that is added is cancelled with the
    /// reason ``CancellationReason/queueShutDown(queue:)`` and does not begin. Its
    /// value throws ``OperationCancellation`` with this reason. Periodic operations
    /// (``OperationTrait/every(_:)``) do not run again. An operation whose delay is not over within
    /// the grace period is cancelled at once. Everything else may begin and end during that time.
    /// Then all operations that are left are cancelled with the same reason. If some do
    /// not leave then, a suspended queue is resumed, and a width of 0 becomes 1: an operation that
    /// overrides ``Operation/start()`` ends only if its queue can call the override, although the
    /// operation is cancelled.
    ///
    /// Bodies that ignore their cancellation delay the end. If the calling task is cancelled, the
    /// grace period is over. Further calls may shorten an earlier one. A queue that was shut down
    /// stays so. Pieces of tasks (``executor``) are neither refused nor cancelled: a task that
    /// waits for the queue would never end.
    ///
    /// - Parameters:
    ///   - time: the grace period, by the queue's clock; none if it is not positive. The
    ///     default is less than the 30 seconds that Kubernetes gives a process to end.
    ///   - cancelsWaiting: whether operations that have not begun are cancelled at once, and only
    ///     those that run have the grace period: for a program that ends with Ctrl-C. An operation
    ///     that waits for another attempt does not run.
    /// - Precondition: the queue is not ``main``, and the caller is in no operation of the queue.
    public final func shutDown(
        grace time: Duration = .seconds(20), cancelsWaiting: Bool = false
    ) async {
        await shutDown(grace: time, cancelsWaiting: cancelsWaiting, reporting: nil)
    }

    /// - Parameter reportRest: called with the operations that have not heeded their cancellation
    ///   a second after the grace period; nil if nobody wants to know.
    final func shutDown(
        grace time: Duration, cancelsWaiting: Bool,
        reporting reportRest: (@Sendable ([Operation]) -> Void)?
    ) async {
        if isMain { misuse("the main queue cannot be shut down: it is not the program's own") }
        insert(RefusingStep())
        if cancelsWaiting {
            let reason = shutDownReason
            CancelRound.cancel(
                allOperations(includingBarriers: true).filter { operation in
                    !operation.isPieceOfTask && operation.keepFromBeginning(because: reason)
                })
        }
        Operation.cancel(
            allOperations().filter { $0.isOnHold(beyond: time) }, because: shutDownReason)
        await withTaskCancellationHandler {
            if time > .zero, await finished(within: time.limitedToLongestTime) { return }
            // Again and again: an addition may have been under way when the queue was shut down.
            var rounds = 0
            repeat {
                cancelRest()
                if let reportRest, rounds == 10 {
                    reportRest(allOperations().filter { $0.status.phase == .executing })
                }
                rounds += 1
            } while await !finished(within: .milliseconds(100))
        } onCancel: {
            cancelRest()
        }
    }

    /// Cancels the operations that were not cancelled before.
    final func cancelRest() {
        let all = allOperations(includingBarriers: true)
        Operation.cancel(all.filter { !$0.status.has(.cancelled) }, because: shutDownReason)
        // What is left now is cancelled, and may end only if the queue can start it.
        guard operationCount > 0 else { return }
        if isSuspended { isSuspended = false }
        if maxConcurrentOperationCount == 0 { maxConcurrentOperationCount = 1 }
    }
}

/// Refuses what is added to a queue that was shut down.
private struct RefusingStep: AdditionStep {
    var turn: AdditionTurn { .refusing }

    func add(
        _ addition: Addition, to queue: OperationQueue, next: Next
    ) throws(OperationMisuse) {
        for operation in addition.operations where !operation.isPieceOfTask {
            operation.forceCancel(because: queue.shutDownReason)
        }
        try next(addition)
    }
}

extension Operation {
    /// Whether the operation waits for a time that comes after `limit`, or for its next run.
    fileprivate final func isOnHold(beyond limit: Duration) -> Bool {
        guard status.has(.onHold), let hold = attemptController?.remainingHold else { return false }
        if case .period = hold.cause { return true }
        return hold.time > limit
    }
}
