/// A function that is called when an operation is cancelled.
struct CancelHandler: Sendable {
    /// Whether the body itself registered the handler, which is then dropped at the end of the
    /// attempt.
    let isOfAttempt: Bool
    let call: @Sendable () -> Void
}
