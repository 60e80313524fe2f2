import OperationsFoundation
import Synchronization

/// The operations of a build, one for each task of a description.
struct Build: Sendable {
    private let operations: [String: Operation]
    private let graph: OperationGraph

    init(_ description: Description) {
        let objects = ObjectStore()
        var operations: [String: Operation] = [:]
        for task in description.tasks {
            let operation = TypedOperation { try compile(task, objects) }
            operation.name = task.name
            operations[task.name] = operation
        }
        for task in description.tasks {
            for need in task.needs.compactMap({ operations[$0] }) {
                // A task whose need fails does not run; `addDependency(need)` alone would mean that
                // it runs however the need ends.
                operations[task.name]?.addDependency(need, on: .success)
            }
        }
        self.operations = operations
        graph = OperationGraph("build", description.tasks.compactMap { operations[$0.name] })
    }

    subscript(name: String) -> Operation? { operations[name] }

    /// Adds all tasks, or none and throws if some of them need each other in a circle.
    func add(to queue: OperationQueue) throws(OperationGraphError) { try queue.add(graph) }

    /// How the tasks have ended, in words, each with its tasks.
    func outcomes() -> [(outcome: String, tasks: [String])] {
        let outcomes = Dictionary(grouping: graph.operations) { operation in
            if let reason = operation.cancellationReason { return "cancelled: \(reason)" }
            if let error = operation.error { return "failed: \(error)" }
            return "built"
        }
        return outcomes.map { ($0, $1.compactMap(\.name).sorted()) }.sorted {
            $0.outcome < $1.outcome
        }
    }
}

/// What the tasks have made. In a real build: a folder.
private final class ObjectStore: Sendable {
    private let hashes = Mutex<[String: UInt64]>([:])

    subscript(name: String) -> UInt64? {
        get { hashes.withLock { $0[name] } }
        set { hashes.withLock { $0[name] = newValue } }
    }
}

/// An error in a source.
private struct SourceError: Error, CustomStringConvertible {
    let description = "expected '}'"
}

/// Stands for a compiler: the object of a task is a hash of its name and of the objects it needs.
private func compile(_ task: Description.Task, _ objects: ObjectStore) throws {
    if task.hasError { throw SourceError() }
    var hash = task.name.utf8.reduce(14_695_981_039_346_656_037 as UInt64) { hash, byte in
        (hash ^ UInt64(byte)) &* 1_099_511_628_211
    }
    for need in task.needs {
        guard let object = objects[need] else { preconditionFailure("'\(need)' was not built") }
        hash = (hash ^ object) &* 1_099_511_628_211
    }
    objects[task.name] = hash
}
