/// The error thrown in place of the result of an operation that was cancelled.
public struct OperationCancellation: Error, Sendable, CustomStringConvertible {
    /// The operation, as messages name it.
    public let operation: String
    /// Why it was cancelled.
    public let reason: CancellationReason

    /// Makes an error about an operation.
    public init(operation: String, reason: CancellationReason) {
        self.operation = operation
        self.reason = reason
    }

    /// A message for people.
    public var description: String { "\(operation) was cancelled: \(reason)" }
}

/// Why there is no result yet.
public enum OperationResultError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The operation of this name has not finished.
    case notFinished(operation: String)
    /// The operation of this name finished without its work: a subclass ended it by other means.
    case noOutput(operation: String)

    /// A message that says what happened and how to correct it.
    public var description: String {
        switch self {
        case .notFinished(let operation):
            "\(operation) has not finished, so it has no result yet: write await operation.value, or read "
                + "the result in an operation that depends on it"
        case .noOutput(let operation):
            "\(operation) finished without an output: its main() never returned one"
        }
    }
}
