/// Looks for what is wrong with a graph, without touching its operations.
///
/// A group inside of it counts with its members: they start after what the group waits for, and it ends after
/// them.
struct GraphCheck {
    private typealias Error = OperationGraphError
    private typealias Part = OperationGraphPart

    /// The members, those of groups included, each behind its group.
    private var members: [Operation] = []
    private var isMember: Set<ObjectIdentifier> = []
    private var edges: [ObjectIdentifier: [Operation]] = [:]
    private var groups: [ObjectIdentifier: GroupOperation] = [:]

    init(_ graph: OperationGraph) throws(OperationGraphError) {
        try add(graph.part, of: nil)
    }

    func run() throws(OperationGraphError) {
        for operation in members {
            for dependency in operation.listedDependencies where isMissing(dependency) {
                throw .missingInput(operation: operation.label, dependency: dependency.label)
            }
        }
        if let cycle = firstCycle() { throw .cycle(cycle.map(\.label)) }
    }

    private mutating func add(
        _ part: OperationGraphPart, of group: GroupOperation?
    ) throws(OperationGraphError) {
        for operation in part.operations {
            let id = ObjectIdentifier(operation)
            guard isMember.insert(id).inserted else { throw .duplicate(operation.label) }
            // A subclass that keeps its own state may have been started by hand.
            guard operation.status.phase == .created, !operation.isExecuting, !operation.isFinished
            else { throw .alreadyEnqueued(operation.label) }
            members.append(operation)
            groups[id] = group
            if let inner = operation as? GroupOperation { try add(inner.graph.part, of: inner) }
        }
        for edge in part.edges {
            edges[ObjectIdentifier(edge.dependent), default: []].append(edge.dependency)
        }
    }

    private func isMissing(_ dependency: Operation) -> Bool {
        guard !isMember.contains(ObjectIdentifier(dependency)),
            dependency.status.phase == .created, !dependency.status.has(.promised),
            !dependency.isExecuting, !dependency.isFinished
        else { return false }
        // A member of a group comes into a queue with it.
        return dependency.group.map { isMissing($0) } ?? true
    }

    // MARK: Cycles

    /// What has to end before the operation can.
    private func predecessors(of operation: Operation) -> [Operation] {
        let id = ObjectIdentifier(operation)
        var found = edges[id] ?? []
        found += operation.listedDependencies.filter { $0.status.phase != .finished }
        if let group = operation as? GroupOperation { found += group.graph.operations }
        // Not the groups that it is in, which end later.
        var outer = groups[id] ?? operation.group
        while let group = outer {
            found += edges[ObjectIdentifier(group)] ?? []
            found += group.listedDependencies.filter { $0.status.phase != .finished }
            outer = groups[ObjectIdentifier(group)] ?? group.group
        }
        return found
    }

    /// From an operation to one that comes after it, and so on; the first one is repeated at the end.
    ///
    /// Of several that could stand first, it is the one that was given first.
    private func firstCycle() -> [Operation]? {
        var done: Set<ObjectIdentifier> = []
        for operation in members where !done.contains(ObjectIdentifier(operation)) {
            if let cycle = cycle(behind: operation, &done) { return ordered(cycle) }
        }
        return nil
    }

    /// Each waits for the next.
    private func cycle(
        behind first: Operation, _ done: inout Set<ObjectIdentifier>
    ) -> [Operation]? {
        var trail = [(operation: first, rest: predecessors(of: first)[...])]
        var onTrail: Set<ObjectIdentifier> = [ObjectIdentifier(first)]
        while let last = trail.indices.last {
            guard let next = trail[last].rest.popFirst() else {
                let id = ObjectIdentifier(trail.removeLast().operation)
                onTrail.remove(id)
                done.insert(id)
                continue
            }
            let id = ObjectIdentifier(next)
            if onTrail.contains(id) {
                let start = trail.firstIndex { $0.operation === next } ?? 0
                return trail[start...].map(\.operation)
            }
            if done.contains(id) { continue }
            onTrail.insert(id)
            trail.append((next, predecessors(of: next)[...]))
        }
        return nil
    }

    private func ordered(_ cycle: [Operation]) -> [Operation] {
        let forwards = Array(cycle.reversed())
        let inCycle = Set(forwards.map(ObjectIdentifier.init))
        let first = members.first { inCycle.contains(ObjectIdentifier($0)) }
        let start = forwards.firstIndex { $0 === first } ?? 0
        let turned = forwards[start...] + forwards[..<start]
        return Array(turned + turned.prefix(1))
    }
}

extension OperationGraph {
    /// Looks whether the graph can run, and touches nothing.
    ///
    /// - Throws: the first of ``OperationGraphError/duplicate(_:)``,
    ///   ``OperationGraphError/alreadyEnqueued(_:)``, ``OperationGraphError/missingInput(operation:dependency:)`` and
    ///   ``OperationGraphError/cycle(_:)`` that is found.
    /// - Complexity: O(members and edges, and what they depend on).
    public func validate() throws(OperationGraphError) {
        try GraphCheck(self).run()
    }
}

extension Operation {
    /// The group that it is a member of.
    var group: GroupOperation? {
        existingExtras == nil ? nil : withExtras { $0.group }
    }
}
