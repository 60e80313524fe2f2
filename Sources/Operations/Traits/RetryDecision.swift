/// What follows a failed attempt of an operation.
///
/// See ``OperationTrait/retry(_:backoff:deciding:)``.
public enum RetryDecision: Sendable, Hashable {
    /// No further attempt: the operation fails with the error of this attempt.
    case stop
    /// Another attempt, after the wait of the back-off, but not before the given time has passed.
    ///
    /// The time is limited to a century. Zero or less leaves the wait to the back-off.
    case retry(after: Duration = .zero)
}
