import Synchronization

// How an operation ends other than well: with an error, or cancelled for a reason.

extension Operation {
    /// The operation that the caller runs in, in its body or in what that calls; nil outside of operations.
    public static var current: Operation? {
        let context = ThreadContext.existing
        return context?.operationOfTask ?? TaskContext.operation
            ?? context?.operation?.takeUnretainedValue()
    }

    // MARK: Failing

    /// What it has failed with; to look at it is not to observe it.
    final var failureRecord: FailureRecord? {
        existingExtras == nil ? nil : withExtras { $0.failure }
    }

    // MARK: Cancelling

    /// Why the operation was cancelled; nil if it was not.
    public final var cancellationReason: CancellationReason? {
        guard isCancelled else { return nil }
        let (reason, failures) = reasonAndFailures
        for failure in failures { failure.observe() }
        return reason
    }

    /// Why it was cancelled, or told to stop, and the failures that whoever is told so has looked at.
    final var reasonAndFailures: (reason: CancellationReason, failures: [FailureRecord]) {
        guard existingExtras != nil else { return (.requested, []) }
        let (reason, upstream, own) = withExtras {
            ($0.cancellationReason, $0.upstreamFailure, $0.failure)
        }
        var failures = upstream.map { [$0] } ?? []
        switch reason {
        case .failure:
            // Its deadline has passed.
            if let own { failures.append(own) }
        case .none:
            guard !status.has(.cancelled), let own else { break }
            return (.failure(own.error), failures + [own])
        default: break
        }
        return (reason ?? .requested, failures)
    }

    /// Asks the operation to stop, for a reason that can be asked for (``cancellationReason``), and if
    /// wanted all that depends on it.
    ///
    /// Calls ``cancel()``, of dependents too, on the calling thread. The first reason counts.
    ///
    /// With dependents, all are marked before that: none of them begins, and each ends after its own
    /// `cancel()` was called.
    ///
    /// - Complexity: with dependents, O(their number and their edges).
    public final func cancel(
        _ extent: CancellationExtent = .alone, because reason: CancellationReason = .requested
    ) {
        switch extent {
        case .alone: cancel(because: reason, failure: nil)
        case .withDependents:
            let operations = cancellationPendingWithDependents()
            // Before any of them ends: those that need its success would get that as their reason.
            for operation in operations { operation.note(reason) }
            CancelRound.cancel(operations)
        }
    }

    final func cancel(because reason: CancellationReason, failure: FailureRecord?) {
        note(reason, failure)
        cancel()
    }

    /// Says why it is about to be cancelled; the first reason counts.
    final func note(_ reason: CancellationReason, _ failure: FailureRecord? = nil) {
        if case .requested = reason { return }
        withExtras { extras in
            guard !status.has(.cancelled), extras.cancellationReason == nil else { return }
            // What depends on it goes by the word, and people by the reason: both say the same.
            if failure != nil, update({ $0.failedUpstream() }) == nil { return }
            extras.cancellationReason = reason
            extras.upstreamFailure = failure
        }
    }

    /// The operation and all that depends on it, none of which begins from now on.
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
                Edges.forEachSuccessor(edges) { dependent, _ in
                    guard let dependent = Self.reference(toDependent: dependent),
                        seen.insert(ObjectIdentifier(dependent)).inserted
                    else { return }
                    _ = dependent.announceCancellation()
                    found.append(dependent)
                }
            }
        }
        return found
    }

    /// Calls `handler` once when the operation is cancelled, on the thread that cancels it; at once if it
    /// has been. Then, or when the operation has finished, it is dropped.
    ///
    /// To a body whose time is over (``OperationTrait/timeout(_:)``) that is a cancellation, too. If it is run
    /// again after that, what it registered is forgotten, and what others registered is kept.
    ///
    /// This is how a cancellation reaches a call that blocks: from inside the body, hand over what makes that
    /// call return.
    ///
    /// ```swift
    /// queue.add {
    ///     let connection = try Connection.open()
    ///     Operation.current?.onCancel { connection.close() }
    ///     return try connection.readAll()
    /// }
    /// ```
    public final func onCancel(_ handler: @escaping @Sendable () -> Void) {
        let isOfAttempt = existingExtras?.attemptController != nil && Operation.current === self
        let isDue = withExtras { extras in
            let word = status
            guard word.phase != .finished else { return word.isCancelled }
            let change = update { word in
                word.insert([.hasCancelHandlers, .hasEndObservers])
                return true
            }
            // Whoever cancels it from here on sees the flag, and waits for this lock.
            if let after = change?.after, after.isStopped || after.isCancelled { return true }
            extras.cancelHandlers.append(CancelHandler(isOfAttempt: isOfAttempt, call: handler))
            return false
        }
        if isDue { handler() }
    }

    final func callCancelHandlers() {
        let handlers = withExtras { extras in
            defer {
                // It may be cancelled in a later attempt.
                extras.cancelHandlers =
                    status.has(.cancelled)
                    ? [] : extras.cancelHandlers.filter { !$0.isOfAttempt }
            }
            return extras.cancelHandlers
        }
        for handler in handlers { handler.call() }
        lookAtStandingCycles()
    }
}
