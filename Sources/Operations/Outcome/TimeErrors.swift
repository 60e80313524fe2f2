import OperationsRuntime

/// The failure of an operation whose attempt took too long; see ``OperationTrait/timeout(_:)``.
public struct OperationTimeout: Error, Sendable, Hashable, CustomStringConvertible {
    /// The operation, as messages name it.
    public let operation: String
    /// How long the attempt was allowed to take.
    public let duration: Duration

    /// Makes an error about an operation.
    public init(operation: String, duration: Duration) {
        self.operation = operation
        self.duration = duration
    }

    /// A message for people.
    public var description: String { "\(operation) took longer than \(duration.text)" }
}

/// The end of a wait for an operation, which goes on; see ``TypedOperation/value(within:)``.
public struct OperationWaitTimeout: Error, Sendable, Hashable, CustomStringConvertible {
    /// The operation, as messages name it.
    public let operation: String
    /// How long the caller was ready to wait.
    public let limit: Duration

    /// Makes an error about an operation.
    public init(operation: String, limit: Duration) {
        self.operation = operation
        self.limit = limit
    }

    /// A message for people.
    public var description: String {
        "\(operation) had not finished after a wait of \(limit.text), and goes on"
    }
}

/// The failure of an operation that had not ended by its deadline; see
/// ``OperationTrait/deadline(in:)``.
public struct OperationDeadlineExceeded: Error, Sendable, Hashable, CustomStringConvertible {
    /// The operation, as messages name it.
    public let operation: String
    /// Whether its work had begun.
    public let hasStarted: Bool

    /// Makes an error about an operation.
    public init(operation: String, hasStarted: Bool) {
        self.operation = operation
        self.hasStarted = hasStarted
    }

    /// A message for people.
    public var description: String {
        "\(operation) had not \(hasStarted ? "ended" : "started") by its deadline"
    }
}
