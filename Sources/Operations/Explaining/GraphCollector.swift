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
        /// The operations that have to end first, because of a barrier of the queue.
        package var barriers: [Operation] = []
        /// The operation that has to start first, because the queue's order is strict.
        package var predecessors: [Operation] = []

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
        addBarriers()
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
        guard found[index].state.isAtWork else { return expandInQueue(index) }
        let blockers = operation.blockers(in: found[index].state, .everything)
        found[index].waits = blockers.flatMap(\.operations)
        for other in found[index].waits { add(other) }
    }

    /// Adds the operation that has to start before one that has not begun, because the order of
    /// their queue is strict.
    private mutating func expandInQueue(_ index: Int) {
        guard found[index].queue != nil else { return }
        for blocker in found[index].operation.blockers(in: found[index].state, .standing) {
            guard case .strictOrder = blocker.kind else { continue }
            found[index].predecessors += blocker.operations
            for other in blocker.operations { add(other) }
        }
    }

    /// Adds to each operation what has to end before it because of the barriers of its queue: to a
    /// barrier the operations since the barrier before it, and to another operation the barrier
    /// before it.
    private mutating func addBarriers() {
        let places = found.indices.filter { found[$0].isInQueue }
        for (_, members) in Dictionary(
            grouping: places, by: { found[$0].queue.map(ObjectIdentifier.init) })
        where members.contains(where: { found[$0].isBarrier }) {
            var barrier: Operation?
            var since: [Operation] = []
            let ordered = members.map { ($0, found[$0].operation.placeInQueue) }
                .sorted { $0.1 < $1.1 }
            for (index, _) in ordered {
                let operation = found[index].operation
                if found[index].isBarrier {
                    found[index].barriers = since.isEmpty ? [barrier].compactMap { $0 } : since
                    (barrier, since) = (operation, [])
                } else {
                    found[index].barriers = [barrier].compactMap { $0 }
                    since.append(operation)
                }
            }
        }
    }
}

extension GraphCollector.Found {
    /// Whether the operation is in a queue, and its barriers matter to it.
    fileprivate var isInQueue: Bool {
        switch phase {
        case .created, .finished: false
        case .waiting, .checkingReadiness, .queued, .starting, .executing:
            queue != nil && !isCancelled
        }
    }
}
