/// How an operation has ended.
package enum OperationOutcome: UInt8, Sendable {
    case finished
    /// The operation was cancelled before it ended, whether or not it had begun.
    case cancelled
    /// The operation threw an error.
    case failed
}

extension Operation {
    /// Returns how the body ended. Only this method tells failures from successes.
    ///
    /// Called when the body has ended, possibly before the state says so.
    func outcome(_ state: LifecycleState) -> OperationOutcome {
        switch state.outcome {
        case .succeeded: .finished
        case .failed: .failed
        case .cancelled, .failedUpstream: .cancelled
        }
    }

    /// Returns the error and the reason of an end with the given outcome. The failure does not
    /// count as observed by this.
    package final func cause(
        of outcome: OperationOutcome
    ) -> (error: (any Error)?, reason: CancellationReason?) {
        switch outcome {
        case .finished: (nil, nil)
        case .failed: (withExtras { $0.failure }?.error, nil)
        case .cancelled: (nil, withExtras { $0.cancellationReason } ?? .requested)
        }
    }
}
