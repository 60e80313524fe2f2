/// A mistake in a graph. When it is thrown, nothing has been connected and nothing runs.
public enum OperationGraphError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The operations would wait for each other: each comes before the next, and the first is
    /// repeated at the end.
    case cycle([String])
    /// The operation waits for a dependency that nothing will ever run: the dependency is in no
    /// queue, was not started, and is not a member of the graph.
    case missingInput(operation: String, dependency: String)
    /// The operation is given more than once.
    case duplicate(String)
    /// The operation is already in a queue, or was started.
    case alreadyEnqueued(String)

    /// A message that says what is wrong and what to do, without a full stop.
    public var description: String {
        switch self {
        case .cycle(let names):
            "\(names.joined(separator: " → ")) is a cycle: remove one of these dependencies"
        case .missingInput(let operation, let dependency):
            "\(operation) waits for \(dependency), which is in no queue and not in the graph: add it to one of "
                + "them, or remove the dependency"
        case .duplicate(let operation):
            "\(operation) is given more than once: name it once, and let what comes after it stand in a "
                + "Concurrently block behind it, or use connect(_:before:)"
        case .alreadyEnqueued(let operation):
            "\(operation) is in a queue already, or was started: make a new operation for each graph"
        }
    }
}
