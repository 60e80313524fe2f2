/// What follows a failed attempt of an operation.
///
/// See ``OperationTrait/retry(_:backoff:deciding:)``.
public enum RetryDecision: Sendable, Hashable {
    /// No further attempt: the operation fails with the error of this attempt.
    case stop
    /// Another attempt, after the wait of the back-off, but not before the given time has passed.
    ///
    /// The time is limited to a century. Zero or less leaves the wait to the back-off.
    ///
    /// A rate limit is closed for the whole wait: a server that has had enough of one operation is
    /// left alone by all. If the operation takes its tokens by a key
    /// (``OperationTrait/rate(_:by:tokens:)``), that holds for the operations with this key.
    case retry(after: Duration = .zero, closing: RateLimit? = nil)
}
