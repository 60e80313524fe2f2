import Synchronization

/// Looks for what is wrong with a graph, without touching its operations.
///
/// A group inside of it counts with its members: they start after what the group waits for, and it ends after
/// them.
struct GraphCheck {
    // Each group checks its graph when it starts. With groups inside of groups each operation would be checked
    // as often as it is deep; so a group whose members were checked with an outer graph is not checked again, if
    // no dependency has been added since to anything that a check could find. In programs without such groups
    // nothing is counted.

    private static let areGroupsNested = Atomic<Bool>(false)
    private static let edgeCount = Atomic<Int>(1)

    /// From here on the dependencies that are added are counted.
    static func recordNestedGroups() {
        if !areGroupsNested.load(ordering: .relaxed) {
            areGroupsNested.store(true, ordering: .sequentiallyConsistent)
        }
    }

    /// A dependency has been added of which no check knows.
    @inline(__always)
    static func recordEdge() {
        if areGroupsNested.load(ordering: .relaxed) {
            edgeCount.add(1, ordering: .acquiringAndReleasing)
        }
    }

    /// A check that begins now knows all dependencies for as long as this does not change; nil if they are not
    /// counted.
    static var edgesSoFar: Int? {
        areGroupsNested.load(ordering: .acquiring) ? edgeCount.load(ordering: .acquiring) : nil
    }

    private typealias Error = OperationGraphError
    private typealias Part = OperationGraphPart

    /// The members, those of groups included, each behind its group.
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

    private mutating func add(_ part: OperationGraphPart) throws(OperationGraphError) {
        addEdges(of: part)
        // Of the graph, of a group in it, of a group in that, and so on: what is left of each.
        var trail: [(rest: ArraySlice<Operation>, group: GroupOperation?)] = [
            (part.operations[...], nil)
        ]
        while let last = trail.indices.last {
            guard let operation = trail[last].rest.popFirst() else {
                trail.removeLast()
                continue
            }
            let id = ObjectIdentifier(operation)
            guard isMember.insert(id).inserted else { throw .duplicate(operation.label) }
            // A subclass that keeps its own state may have been started by hand.
            guard operation.status.phase == .created, !operation.isExecuting, !operation.isFinished
            else { throw .alreadyEnqueued(operation.label) }
            members.append(operation)
            groups[id] = trail[last].group
            guard let inner = operation as? GroupOperation else { continue }
            addEdges(of: inner.graph.part)
            trail.append((inner.graph.part.operations[...], inner))
        }
    }

    private mutating func addEdges(of part: OperationGraphPart) {
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
            // A member of a group comes into a queue with it.
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

    /// What has to come before an event.
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
        // Not the end of the group that it is in, which comes later.
        if let outer = groups[id] ?? operation.group {
            found.append(Event(operation: outer, isStart: true))
        }
        return found
    }

    /// From an operation to one that comes after it, and so on; the first one is repeated at the end.
    ///
    /// Of several that could stand first, it is the one that was given first.
    private func firstCycle() -> [Operation]? {
        var done: Set<Event.ID> = []
        for operation in members {
            let end = Event(operation: operation, isStart: false)
            guard !done.contains(end.id), let cycle = cycle(behind: end, &done) else { continue }
            // Starts are only steps between operations.
            return ordered(cycle.filter { !$0.isStart }.map(\.operation))
        }
        return nil
    }

    /// Each waits for the next.
    private func cycle(behind first: Event, _ done: inout Set<Event.ID>) -> [Event]? {
        var trail = [(event: first, rest: predecessors(of: first)[...])]
        var onTrail: Set<Event.ID> = [first.id]
        while let last = trail.indices.last {
            guard let next = trail[last].rest.popFirst() else {
                let id = trail.removeLast().event.id
                onTrail.remove(id)
                done.insert(id)
                continue
            }
            let id = next.id
            if onTrail.contains(id) {
                let start = trail.firstIndex { $0.event.id == id } ?? 0
                return trail[start...].map(\.event)
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
