/// Members of operations that cannot belong to the class itself.
///
/// Some have names that subclasses often use for members of their own: a subclass which comes from
/// Foundation with an `error` of its own compiles as it is, and its property is then a different
/// one, of which the library knows nothing. Others differ from a method of the class only in the
/// actor of a closure, which two methods of one type cannot.
public protocol _OperationMembers: Operation {}

extension Operation: _OperationMembers {}

extension _OperationMembers {
    /// The error that the work threw, or that was passed to ``fail(_:)``; nil without an error.
    ///
    /// An error that came after the operation was cancelled is available here, but the operation
    /// counts as cancelled, not as failed.
    public var error: (any Error)? {
        guard existingExtras != nil, let failure = withExtras({ $0.failure }) else { return nil }
        failure.observe()
        return failure.error
    }

    /// Reports an error of the work; the work itself calls it, before it ends.
    ///
    /// This method is for subclasses whose `main()` cannot throw, or whose work ends in a callback.
    /// It does not end the operation. The first error counts; an error after a cancellation does
    /// not turn the operation into a failed one.
    public func fail(_ error: any Error) {
        let failure = FailureRecord(operation: label, error: error)
        let isCounted = withExtras { extras in
            guard status.phase != .finished, extras.failure == nil else { return false }
            extras.failure = failure
            if extras.mayFail {
                failure.observe()
                failure.handle()
            }
            return exchange { $0.failed() } != nil
        }
        guard isCounted else { return failure.observe() }
        // Another attempt may follow. If none does, or the operation ends at this moment, its end
        // reports the failure to the scope.
        if !mayRunAgain, let queue = retainedQueue(), let companion = queue.companion {
            companion.operationFailed(self, failure, in: queue)
        }
    }
}
