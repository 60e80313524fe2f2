/// The event that ends several operations early, in a scope or in the feeding of a queue: it
/// cancels the operations that are left, and the caller gets its error when these have ended.
///
/// Of several events the first counts.
struct EarlyEnd: Sendable {
    let error: any Error
    /// The reason for which the other operations are cancelled.
    let reason: CancellationReason

    static let taskCancelled = EarlyEnd(error: CancellationError(), reason: .taskCancelled)

    static func operationFailed(_ operation: String, _ error: any Error) -> EarlyEnd {
        EarlyEnd(error: error, reason: .siblingFailed(operation: operation, error: error))
    }

    static func operationCancelled(_ cancellation: OperationCancellation) -> EarlyEnd {
        EarlyEnd(error: cancellation, reason: cancellation.reason)
    }

    /// The body of a scope, or the sequence that feeds a queue, has thrown an error.
    static func thrown(_ error: any Error) -> EarlyEnd {
        EarlyEnd(error: error, reason: .scopeFailed(error: error))
    }
}

extension Result where Failure == any Error {
    /// Returns or throws the outcome of a scope with this result of its body.
    ///
    /// - Parameter end: the early end of the scope, if there was one.
    func outcome(after end: EarlyEnd?) throws -> Success {
        guard let end else { return try get() }
        if case .taskCancelled = end.reason, case .failure(let error) = self {
            // The body may have met an operation that the cancellation of the task had cancelled.
            if case .taskCancelled = (error as? OperationCancellation)?.reason { throw end.error }
            throw error
        }
        throw end.error
    }
}
