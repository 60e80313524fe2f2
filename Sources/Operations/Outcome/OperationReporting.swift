/// What an operation says beyond Foundation's class, under names that subclasses tend to have for something of
/// their own.
///
/// Every operation is one. The members are an extension's, and not the class's, so that a subclass which comes
/// from Foundation with an `error` of its own compiles as it is: its property is another one then, of which the
/// library knows nothing.
public protocol OperationReporting: Operation {}

extension Operation: OperationReporting {}

extension OperationReporting {
    /// What the work threw, or what it was failed with; nil while there is nothing of that kind.
    ///
    /// An error that came after the operation was cancelled is here, but the operation counts as cancelled, not
    /// as failed.
    public var error: (any Error)? {
        guard existingExtras != nil, let failure = withExtras({ $0.failure }) else { return nil }
        failure.observe()
        return failure.error
    }

    /// Says that the work came to an error. To be called by the work itself, before it ends; for subclasses
    /// whose `main()` cannot throw, or whose work ends in a callback.
    ///
    /// The operation does not end by this. The first error counts; one after a cancellation does not make a
    /// failure of it.
    public func fail(_ error: any Error) {
        let failure = FailureRecord(operation: label, error: error)
        let isCounted = withExtras { extras in
            guard status.phase != .finished, extras.failure == nil else { return false }
            extras.failure = failure
            return update { $0.failed() } != nil
        }
        guard isCounted else { return failure.observe() }
        // Another attempt may follow. If none does, or the operation ends at this moment, its end tells.
        if !mayRunAgain, let queue = retainedQueue(), let scope = queue.scope {
            scope.operationFailed(self, failure, in: queue)
        }
    }

    /// Which attempt of its work this is, or was the last one; from 1.
    ///
    /// It rises with each attempt that ``OperationTrait/retry(_:backoff:if:)`` allows, and begins anew with each
    /// run of a periodic operation (``OperationTrait/every(_:)``). The body finds it in
    /// `Operation.current?.attempt`.
    public var attempt: Int { max(1, attemptController?.attempt ?? 1) }
}
