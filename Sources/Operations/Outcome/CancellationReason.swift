/// Why an operation was cancelled.
///
/// A string literal, with interpolations or without, makes a reason:
///
/// ```swift
/// operation.cancel(because: "row \(row) scrolled away")
/// ```
public enum CancellationReason: Sendable, CustomStringConvertible, ExpressibleByStringInterpolation
{
    /// The program called ``Operation/cancel()``, or cancelled the whole queue, without a reason.
    case requested
    /// The program gave this reason.
    case message(String)
    /// The operation was to run only after the success of this dependency, which failed with this
    /// error, itself or because of a dependency of its own.
    case dependencyFailed(operation: String, error: any Error)
    /// The operation was to run only after the success of this dependency, which was cancelled.
    case dependencyCancelled(operation: String)
    /// The operation was to run only after a failure of this dependency, which did not fail.
    case dependencyDidNotFail(operation: String)
    /// The timeout or the deadline of the operation has passed. The operation failed with this
    /// error, and its body, if running, was asked to stop. Such an operation counts as failed.
    case outOfTime(any Error)
    /// A later operation with the same key replaced the operation; see
    /// ``OperationTrait/coalesced(by:)``.
    case replaced(by: String)
    /// An operation with the same key had not finished when the operation was added; see
    /// ``OperationTrait/deduplicated(by:)``.
    case duplicate(of: String)
    /// The queue held as many operations as it may, and this one had to go; see
    /// ``OperationQueue/overflow``.
    case displaced(capacity: Int)
    /// The queue was shut down; see ``OperationQueue/shutDown(grace:cancelsWaiting:)``.
    case queueShutDown(queue: String)
    /// An operation of the same scope or call, named here, ended with this error.
    case siblingFailed(operation: String, error: any Error)
    /// The body of the operation's scope, or the sequence of its call, threw this error.
    case scopeFailed(error: any Error)
    /// The task that had opened the operation's scope, or waited for the operation, was cancelled.
    case taskCancelled
    /// The program made this mistake with the operation, which
    /// ``OperationsDiagnostics/mistakePolicy`` let it survive.
    case misuse(OperationMisuse)

    /// Makes a reason from the text.
    public init(stringLiteral value: String) { self = .message(value) }

    /// A few words for people to read.
    public var description: String {
        switch self {
        case .requested: "it was asked to stop"
        case .message(let text): text
        case .dependencyFailed(let operation, let error): "\(operation) failed: \(error)"
        case .dependencyCancelled(let operation): "\(operation) was cancelled"
        case .dependencyDidNotFail(let operation): "\(operation) did not fail"
        case .outOfTime(let error): "\(error)"
        case .replaced(let operation): "\(operation) took its place"
        case .duplicate(let operation): "\(operation) does the same already"
        case .displaced(let capacity):
            "its queue held \(capacity) operation\(capacity == 1 ? "" : "s") already"
        case .queueShutDown(let queue): "\(queue) was shut down"
        case .siblingFailed(let operation, let error):
            "\(operation) of the same scope failed: \(error)"
        case .scopeFailed(let error): "its scope failed: \(error)"
        case .taskCancelled: "the task that waited for it was cancelled"
        case .misuse(let misuse): misuse.description
        }
    }
}

extension CancellationReason {
    /// Why the dependents of an operation are cancelled that need its success, and that was itself
    /// cancelled for `reason`. The root cause says more than the nearest cancellation.
    static func ofDependents(of label: String, cancelledBecause reason: Self?) -> Self {
        switch reason {
        case .dependencyFailed?, .dependencyCancelled?, .dependencyDidNotFail?:
            reason.unsafelyUnwrapped
        default: .dependencyCancelled(operation: label)
        }
    }
}

/// The operations that a cancellation reaches.
public enum CancellationExtent: Sendable, Hashable {
    /// Only the operation. An operation that depends on it goes on, unless it requires success.
    case alone
    /// Also all operations that depend on it, directly or through others, in any queue. None of
    /// them starts after the first is cancelled. An operation that has finished has no dependents
    /// any more: those that ran, or may run, because of it are not reached.
    case withDependents
}

extension OperationQueue {
    /// The reason of what is cancelled because the queue was shut down.
    final var shutDownReason: CancellationReason { .queueShutDown(queue: label) }
}
