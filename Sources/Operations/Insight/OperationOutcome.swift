/// How an operation has ended.
package enum OperationOutcome: UInt8, Sendable {
    case finished
    /// The operation was cancelled before it ended, whether or not it had begun.
    case cancelled
    /// The operation threw an error.
    case failed

    var text: StaticString {
        switch self {
        case .finished: "finished"
        case .cancelled: "cancelled"
        case .failed: "failed"
        }
    }
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
}
