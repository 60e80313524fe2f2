/// How an operation has ended.
package enum OperationOutcome: UInt8, Sendable {
    case finished
    /// It was cancelled before it ended, whether it had begun or not.
    case cancelled
    /// It threw an error.
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
    /// How its work ended; the one place that tells failures from successes.
    ///
    /// Asked when the work is over, possibly before the word says so.
    func outcome(_ word: LifecycleState) -> OperationOutcome {
        switch word.outcome {
        case .succeeded: .finished
        case .failed: .failed
        case .cancelled, .failedUpstream: .cancelled
        }
    }
}
