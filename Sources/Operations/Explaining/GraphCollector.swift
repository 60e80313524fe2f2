/// Collects the unfinished operations of a queue, and what they wait for, directly or indirectly.
package struct GraphCollector {
    package static let limit = 10_000

    package struct Found {
        package let operation: Operation
        package let queue: OperationQueue?
        let state: LifecycleState
        /// The operations for which the operation's code waits.
        package var waits: [Operation] = []
        package var dependencies: [Operation] = []

        package var phase: LifecycleState.Phase { state.phase }
        package var isCancelled: Bool { state.isCancelled }
        package var isBarrier: Bool { state.has(.barrier) }
    }

    package private(set) var found: [Found] = []
    private var places: [ObjectIdentifier: Int] = [:]
    package private(set) var omitted = 0
    /// The operations beyond the limit, recorded only so that each counts once.
    private var refused: Set<ObjectIdentifier> = []
    private let limit: Int

    package init(of queue: OperationQueue, limit: Int = Self.limit) {
        self.limit = limit
        for operation in queue.allOperations(includingBarriers: true) { add(operation) }
        var next = 0
        while next < found.count {
            expand(next)
            next += 1
        }
    }

    package func place(of operation: Operation) -> Int? { places[ObjectIdentifier(operation)] }

    private mutating func add(_ operation: Operation) {
        let id = ObjectIdentifier(operation)
        guard places[id] == nil else { return }
        guard found.count < limit else {
            if refused.insert(id).inserted { omitted += 1 }
            return
        }
        places[id] = found.count
        // In this order: an operation that leaves its queue in between has finished.
        let queue = operation.retainedQueue()
        found.append(Found(operation: operation, queue: queue, state: operation.status))
    }

    private mutating func expand(_ index: Int) {
        let operation = found[index].operation
        // A finished operation waits for nothing any more.
        guard found[index].state.phase != .finished else { return }
        let dependencies = operation.listedDependencies
        found[index].dependencies = dependencies
        for dependency in dependencies { add(dependency) }
        // The group starts the operation.
        if found[index].state.phase == .created, let group = operation.group { add(group) }
        guard found[index].state.isAtWork else { return }
        let blockers = operation.blockers(in: found[index].state, .everything)
        found[index].waits = blockers.flatMap(\.operations)
        for other in found[index].waits { add(other) }
    }
}
