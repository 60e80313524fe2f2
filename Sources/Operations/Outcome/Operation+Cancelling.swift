import OperationsRuntime
import Synchronization

// What users call to cancel an operation, and to learn why it was cancelled.

extension Operation {
    /// Why the operation was cancelled; nil if it was not.
    public final var cancellationReason: CancellationReason? {
        guard isCancelled else { return nil }
        let (reason, failures) = reasonAndFailures
        for failure in failures { failure.observe() }
        return reason
    }

    /// Why the operation was cancelled, or told to stop, and the failures that a reader of this
    /// reason has observed.
    final var reasonAndFailures: (reason: CancellationReason, failures: [FailureRecord]) {
        guard existingExtras != nil else { return (.requested, []) }
        let (reason, upstream, own) = withExtras {
            ($0.cancellationReason, $0.upstreamFailure, $0.failure)
        }
        var failures = upstream.map { [$0] } ?? []
        switch reason {
        case .outOfTime:
            // The operation's deadline has passed.
            if let own { failures.append(own) }
        case .none:
            guard !status.has(.cancelled), let own else { break }
            return (.outOfTime(own.error), failures + [own])
        default: break
        }
        return (reason ?? .requested, failures)
    }

    /// Asks the operation to stop, for a reason, and optionally all operations that depend on it.
    ///
    /// The reason is available as ``cancellationReason``; the first reason counts. The method calls
    /// ``cancel()``, of dependents too, on the calling thread.
    ///
    /// With dependents, all operations are marked before that: none of them begins, and each ends
    /// after its own `cancel()` was called.
    ///
    /// - Complexity: with dependents, O(their number and their edges).
    public final func cancel(
        _ extent: CancellationExtent = .alone, because reason: CancellationReason = .requested
    ) {
        switch extent {
        case .alone: cancel(because: reason, failure: nil)
        case .withDependents:
            let operations = cancellationPendingWithDependents()
            // Before any of them ends: a dependent that needs success would otherwise get that end
            // as its reason.
            for operation in operations { operation.note(reason) }
            CancelRound.cancel(operations)
        }
    }

    final func cancel(because reason: CancellationReason, failure: FailureRecord?) {
        note(reason, failure)
        cancel()
    }

    /// Announces the cancellation of the operation and of all its dependents; returns them. None
    /// begins from now on.
    private func cancellationPendingWithDependents() -> [Operation] {
        _ = announceCancellation()
        var found = [self]
        var seen: Set<ObjectIdentifier> = [ObjectIdentifier(self)]
        var next = 0
        while next < found.count {
            let operation = found[next]
            next += 1
            operation.withLock {
                guard let edges = operation.edges.load(ordering: .relaxed) else { return }
                Edges.forEachSuccessor(edges) { edge in
                    guard let dependent = Self.reference(toDependent: edge.dependent),
                        seen.insert(ObjectIdentifier(dependent)).inserted
                    else { return }
                    _ = dependent.announceCancellation()
                    found.append(dependent)
                }
            }
        }
        return found
    }

    /// Calls `handler` once when the operation is cancelled, on the thread that cancels it.
    ///
    /// If the operation has been cancelled already, the handler is called at once. Afterwards, or
    /// when the operation has finished, the handler is dropped.
    ///
    /// For a body whose time is over (``OperationTrait/timeout(_:)``) that is a cancellation, too.
    /// If the body is run again after that, handlers that it registered itself are dropped, and
    /// other handlers are kept.
    ///
    /// This is how a cancellation reaches a call that blocks: inside the body, register a handler
    /// that makes the call return.
    ///
    /// ```swift
    /// queue.add {
    ///     let connection = try Connection.open()
    ///     Operation.current?.onCancel { connection.close() }
    ///     return try connection.readAll()
    /// }
    /// ```
    public final func onCancel(_ handler: @escaping @Sendable () -> Void) {
        let isOfAttempt = companion != nil && Operation.current === self
        let isDue = withExtras { extras in
            let state = status
            guard state.phase != .finished else { return state.isCancelled }
            let after = lifecycle.insert([.hasCancelHandlers, .hasEndObservers])
            // A thread that cancels the operation from here on sees the flag, and waits for this
            // lock.
            if after.isStopped || after.isCancelled { return true }
            extras.cancelHandlers.append(CancelHandler(isOfAttempt: isOfAttempt, call: handler))
            return false
        }
        if isDue { handler() }
    }
}

extension OperationQueue {
    /// Cancels every operation that has not finished, for a reason.
    ///
    /// The reason is available as ``Operation/cancellationReason`` of each operation that was not
    /// cancelled before. Otherwise the method does what ``cancelAllOperations()`` does, but it does
    /// not call an override of that method. Blocks that were added to the queue become operations.
    ///
    /// - Complexity: O(operations and blocks in the queue).
    public final func cancelAllOperations(because reason: CancellationReason) {
        cancelAll(because: reason)
    }

    /// Cancels all operations in the queue but one; none begins after the first is cancelled.
    final func cancelAll(because reason: CancellationReason, except exception: Operation? = nil) {
        let all = allOperations(includingBarriers: true)
        Operation.cancel(all.filter { $0 !== exception }, because: reason)
    }
}

extension Operation {
    /// Cancels several operations together; none begins after the first is cancelled.
    static func cancel(_ operations: [Operation], because reason: CancellationReason) {
        for operation in operations {
            // Recorded first: an operation on the fast path whose cancellation is pending may leave
            // at any moment, and then counts as cancelled.
            operation.note(reason)
            _ = operation.announceCancellation()
        }
        CancelRound.cancel(operations)
    }
}

extension _OperationMembers {
    /// Calls `handler` on the main actor, once when the operation is cancelled.
    ///
    /// The thread that cancels the operation does not wait for the handler. Otherwise this method
    /// does the same as the one for handlers of no actor.
    public func onCancel(_ handler: @escaping @MainActor @Sendable () -> Void) {
        onCancel { Task { @MainActor in handler() } }
    }
}
