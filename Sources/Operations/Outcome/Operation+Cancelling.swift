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
            let order = Operation.dependentsFirst(from: [self], including: nil)
            Operation.announceCancellations(of: order, because: reason)
            // The operation itself comes first.
            CancelRound.cancel(order.reversed())
        }
    }

    final func cancel(because reason: CancellationReason, failure: FailureRecord?) {
        note(reason, failure)
        cancel()
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
    /// not call an override of that method.
    ///
    /// - Complexity: O(operations and blocks in the queue).
    public final func cancelAllOperations(because reason: CancellationReason) {
        cancelAll(because: reason)
    }

    /// Cancels all operations in the queue but one; none begins after the first is cancelled.
    final func cancelAll(because reason: CancellationReason, except exception: Operation? = nil) {
        CancelRound.cancel(cancelEntries(because: reason, except: exception))
    }
}

extension Operation {
    /// Cancels several operations together. None of them begins because another one was cancelled.
    ///
    /// An operation on the fast path may leave as soon as its cancellation is announced. So each
    /// operation is announced after those that wait for it: its dependents, and then, because most
    /// queues go by the order of addition, those that come later in the list.
    ///
    /// - Complexity: O(operations and the edges between them).
    static func cancel(_ operations: [Operation], because reason: CancellationReason) {
        var order = Array(operations.reversed())
        if operations.contains(where: { $0.status.has(.hasSuccessors) }) {
            let members = Set(operations.map { ObjectIdentifier($0) })
            order = dependentsFirst(from: order, including: members)
        }
        announceCancellations(of: order, because: reason)
        CancelRound.cancel(operations)
    }

    private static func announceCancellations(
        of operations: [Operation], because reason: CancellationReason
    ) {
        // Recorded first: an operation whose cancellation is announced may leave at any moment, and
        // then counts as cancelled. Its dependents would get its end as their reason.
        for operation in operations { operation.note(reason) }
        for operation in operations { _ = operation.announceCancellation() }
    }

    /// Returns operations in an order in which each comes after those of them that depend on it.
    ///
    /// - Parameters:
    ///   - operations: where the search for dependents begins.
    ///   - members: the operations to return; nil for all that are found.
    private static func dependentsFirst(
        from operations: [Operation], including members: Set<ObjectIdentifier>?
    ) -> [Operation] {
        var order: [Operation] = []
        var seen: Set<ObjectIdentifier> = []
        var stack: [(operation: Operation, isExpanded: Bool)] = []
        for first in operations {
            stack.append((first, false))
            while let (operation, isExpanded) = stack.popLast() {
                if isExpanded {
                    order.append(operation)
                } else if seen.insert(ObjectIdentifier(operation)).inserted {
                    stack.append((operation, true))
                    for dependent in operation.currentDependents {
                        let id = ObjectIdentifier(dependent)
                        if !seen.contains(id), members?.contains(id) != false {
                            stack.append((dependent, false))
                        }
                    }
                }
            }
        }
        return order
    }

    /// The operations that depend on this one now.
    private var currentDependents: [Operation] {
        guard status.has(.hasSuccessors) else { return [] }
        return withLock {
            guard let edges = edges.load(ordering: .relaxed) else { return [] }
            var dependents: [Operation] = []
            Edges.forEachSuccessor(edges) { edge in
                if let dependent = Self.reference(toDependent: edge.dependent) {
                    dependents.append(dependent)
                }
            }
            return dependents
        }
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
