import OperationsRuntime

/// Finds mistakes in a graph without touching its operations.
///
/// A group inside the graph counts with its members: the members start after everything that the
/// group waits for, and the group ends after its members.
struct GraphCheck {
    private typealias Error = OperationGraphError

    /// The members of the graph and of the groups inside it, each behind its group.
    private var members: [Operation] = []
    private var isMember: Set<ObjectIdentifier> = []
    private var edges: [ObjectIdentifier: [Operation]] = [:]
    private var groups: [ObjectIdentifier: GroupOperation] = [:]

    init(_ graph: OperationGraph) throws(OperationGraphError) {
        try add(graph.part)
    }

    func run() throws(OperationGraphError) {
        for operation in members {
            for dependency in operation.listedDependencies where isMissing(dependency) {
                throw .missingInput(operation: operation.label, dependency: dependency.label)
            }
        }
        if let cycle = firstCycle() { throw .cycle(cycle.map(\.label)) }
    }

    private mutating func add(_ part: OperationGraph.Part) throws(OperationGraphError) {
        addEdges(of: part)
        // The members still to be added, the next one last, each with the group that contains it.
        var rest: [(operation: Operation, group: GroupOperation?)] =
            part.operations.reversed().map { ($0, nil) }
        while let (operation, group) = rest.popLast() {
            let id = ObjectIdentifier(operation)
            guard isMember.insert(id).inserted else { throw .duplicate(operation.label) }
            guard operation.status.phase == .created else {
                throw .alreadyEnqueued(operation.label)
            }
            if let mistake = (operation as? BlockGraphRun)?.mistake { throw mistake }
            members.append(operation)
            groups[id] = group
            guard let inner = operation as? GroupOperation else { continue }
            addEdges(of: inner.graph.part)
            rest += inner.graph.part.operations.reversed().map { ($0, inner) }
        }
    }

    private mutating func addEdges(of part: OperationGraph.Part) {
        for edge in part.edges {
            edges[ObjectIdentifier(edge.dependent), default: []].append(edge.dependency)
        }
    }

    private func isMissing(_ dependency: Operation) -> Bool {
        var candidate = dependency
        while true {
            guard !isMember.contains(ObjectIdentifier(candidate)),
                candidate.status.phase == .created, !candidate.status.has(.reserved),
                !candidate.isExecuting, !candidate.isFinished
            else { return false }
            // A member of a group enters a queue with its group.
            guard let group = candidate.group else { return true }
            candidate = group
        }
    }

    // MARK: Cycles

    /// The start of a group, or the end of any operation.
    private struct Event {
        let operation: Operation
        let isStart: Bool

        struct ID: Hashable {
            let operation: ObjectIdentifier
            let isStart: Bool
        }

        var id: ID { ID(operation: ObjectIdentifier(operation), isStart: isStart) }
    }

    /// Returns the events that have to come before an event.
    private func predecessors(of event: Event) -> [Event] {
        let operation = event.operation
        let id = ObjectIdentifier(operation)
        var found = (edges[id] ?? []).map { Event(operation: $0, isStart: false) }
        for dependency in operation.listedDependencies where dependency.status.phase != .finished {
            found.append(Event(operation: dependency, isStart: false))
        }
        if !event.isStart, let group = operation as? GroupOperation {
            for member in group.graph.operations {
                found.append(Event(operation: member, isStart: false))
            }
        }
        // A member waits for the start of its group, and not for the group's end, which comes
        // later.
        if let outer = groups[id] ?? operation.group {
            found.append(Event(operation: outer, isStart: true))
        }
        return found
    }

    /// Returns the first cycle: from an operation to one that comes after it, and so on. The first
    /// operation is repeated at the end.
    ///
    /// Of several operations that could stand first, the cycle begins with the one that was given
    /// first.
    private func firstCycle() -> [Operation]? {
        let ends = members.map { Event(operation: $0, isStart: false) }
        var walk = DepthFirstWalk(from: ends, id: \.id)
        while let step = walk.next() {
            switch step {
            case .entered(let event): walk.follow(predecessors(of: event))
            case .cycle(let start):
                // Starts are only steps between operations.
                return ordered(walk.path[start...].filter { !$0.isStart }.map(\.operation))
            case .left: break
            }
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
    /// Checks that the graph can run, and changes nothing.
    ///
    /// - Throws: the first of ``OperationGraphError/duplicate(_:)``,
    ///   ``OperationGraphError/alreadyEnqueued(_:)``,
    ///   ``OperationGraphError/missingInput(operation:dependency:)`` and
    ///   ``OperationGraphError/cycle(_:)`` that is found.
    /// - Complexity: O(members and edges, and what they depend on).
    public func validate() throws(OperationGraphError) {
        try GraphCheck(self).run()
    }
}

extension Operation {
    /// The group that the operation is a member of; nil if there is none.
    var group: GroupOperation? {
        existingExtras == nil ? nil : withExtras { $0.group } as? GroupOperation
    }
}
