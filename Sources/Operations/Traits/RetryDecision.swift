/// What follows a failed attempt of an operation.
///
/// See ``OperationTrait/retry(_:backoff:deciding:)``.
public enum RetryDecision: Sendable, Hashable {
    /// No further attempt: the operation fails with the error of this attempt.
    case stop
    /// Another attempt, after the wait of the back-off, but not before the given time has passed.
    ///
    /// The time is limited to a century. Zero or less leaves the wait to the back-off. A rate limit
    /// is paused for the whole wait, so that a server which has had enough of one operation is left
    /// alone by all.
    case retry(after: Duration = .zero, closing: RateLimit? = nil)
}
