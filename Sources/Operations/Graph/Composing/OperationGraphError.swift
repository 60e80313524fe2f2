/// What is wrong with a graph. Nothing of it was connected, and nothing runs.
public enum OperationGraphError: Error, Sendable, Hashable, CustomStringConvertible {
    /// These would wait for each other: each comes before the next, the first is repeated at the end.
    case cycle([String])
    /// The operation waits for another one that nothing will ever run: it is in no queue, was not started, and
    /// is no member.
    case missingInput(operation: String, dependency: String)
    /// The operation is given more than once.
    case duplicate(String)
    /// The operation is in a queue already, or was started.
    case alreadyEnqueued(String)

    /// A sentence that says what is wrong and what to do; without a full stop.
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
