/// Why an operation was cancelled.
///
/// A string literal is one: `operation.cancel(because: "the row scrolled away")`.
public enum CancellationReason: Sendable, CustomStringConvertible, ExpressibleByStringLiteral {
    /// Somebody called ``Operation/cancel()``, or cancelled the whole queue, without a word.
    case requested
    /// Somebody gave this reason.
    case message(String)
    /// It was to run only after the success of this operation, which failed with this error, itself or
    /// because of what it depends on.
    case dependencyFailed(operation: String, error: any Error)
    /// It was to run only after the success of this operation, which was cancelled.
    case dependencyCancelled(operation: String)
    /// It was to run only after a failure of this operation, which did not fail.
    case dependencyDidNotFail(operation: String)
    /// It failed with this error while it ran, and its body was told to stop: its time was over.
    case failure(any Error)
    /// This operation was added after it with the same key; see ``OperationTrait/coalesced(by:)``.
    case replaced(by: String)
    /// This operation with the same key had not finished when it was added; see
    /// ``OperationTrait/deduplicated(by:)``.
    case duplicate(of: String)
    /// It belonged together with this operation, in a scope or to one call, which ended with this error.
    case siblingFailed(operation: String, error: any Error)
    /// What it belonged to, the body of a scope or the sequence of a call, threw this error.
    case scopeFailed(error: any Error)
    /// The task was cancelled that had opened its scope, or waited for it.
    case taskCancelled

    /// Takes the text as the reason.
    public init(stringLiteral value: String) { self = .message(value) }

    /// A few words for people.
    public var description: String {
        switch self {
        case .requested: "it was asked to stop"
        case .message(let text): text
        case .dependencyFailed(let operation, let error): "\(operation) failed: \(error)"
        case .dependencyCancelled(let operation): "\(operation) was cancelled"
        case .dependencyDidNotFail(let operation): "\(operation) did not fail"
        case .failure(let error): "\(error)"
        case .replaced(let operation): "\(operation) took its place"
        case .duplicate(let operation): "\(operation) does the same already"
        case .siblingFailed(let operation, let error): "\(operation) beside it failed: \(error)"
        case .scopeFailed(let error): "what it belonged to failed: \(error)"
        case .taskCancelled: "the task that waited for it was cancelled"
        }
    }
}

/// What else a cancellation reaches.
public enum CancellationExtent: Sendable, Hashable {
    /// The operation alone. What depends on it goes on, unless it asked for its success.
    case alone
    /// Also all that depends on it, directly or through others, in whatever queues. None of them starts once
    /// the first is cancelled.
    case withDependents
}
