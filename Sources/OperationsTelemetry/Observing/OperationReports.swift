#if Telemetry
import Operations

/// An attempt of an operation that will be followed by another one.
struct OperationAttempt: Sendable {
    /// How long the attempt ran; nil if that was not recorded.
    let running: Duration?
    /// The error because of which the operation is repeated; nil for a periodic operation whose run
    /// succeeded.
    let error: (any Error)?
    /// How long the operation will be held back before the next attempt.
    let delay: Duration
}

/// How an operation has ended.
struct OperationEnd: Sendable {
    let outcome: OperationOutcome
    /// How long the last attempt ran; nil if the operation never began, or did not begin again.
    let running: Duration?
    /// The error, if the operation failed.
    let error: (any Error)?
    /// The reason, if the operation was cancelled.
    let reason: CancellationReason?
}
#endif
