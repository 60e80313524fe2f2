import Synchronization

/// Finds cycles when the edge that closes them is added.
///
/// Every operation has a rank, at first the order in which it was made, and dependencies rank below their
/// dependents. An edge that agrees costs two loads. For one that does not, the operations behind the
/// dependency that rank too high are moved, as far as needed, below the dependent; if the dependent itself
/// is among those, that is a cycle. Only edges from dependents to dependencies are followed, because these
/// keep alive what they lead to. This is the backward half of an incremental topological order (Pearce and
/// Kelly, "A dynamic topological sort algorithm for directed acyclic graphs", 2006), with gaps between the
/// ranks in place of the forward half.
///
/// A cycle that was reported stays until somebody breaks it. Its last edge, which cannot agree with the ranks, is
/// then left out of all searches; when the cycle is broken, the next addition puts it in its place, or finds
/// the cycle that it closes by then.
enum OrderSearch {
    private static let lastRank = Atomic<Int>(0)
    /// Between two operations that are made one after the other.
    private static let gap = 1 << 16

    /// Odd while ranks are being changed.
    private static let epoch = Atomic<Int>(0)
    private static let lock = BriefLock()
    /// Guarded by the lock.
    nonisolated(unsafe) private static var reported: [ReportedCycle] = []
    private static let hasReported = Atomic<Bool>(false)

    /// A cycle, and the edge that closed it: from the first member to the second.
    private struct ReportedCycle {
        private struct Member {
            weak var operation: Operation?
        }

        private let members: [Member]
        /// Not to be followed, only compared: the weak references above say whether they still exist.
        private let closingEdge: [ObjectIdentifier]

        /// - Parameter path: with the first operation repeated at the end.
        init(_ path: [Operation]) {
            members = path.map { Member(operation: $0) }
            closingEdge = path.prefix(2).map(ObjectIdentifier.init)
        }

        func isClosed(bySameEdgeAs other: ReportedCycle) -> Bool {
            closingEdge == other.closingEdge
        }

        /// The operations, if they still exist.
        func operations(_ kept: inout [[Operation]]) -> [Operation]? {
            let operations = members.compactMap(\.operation)
            kept.append(operations)
            return operations.count == members.count ? operations : nil
        }

        /// Whether each member but the first still waits for the next.
        static func leadsBack(_ operations: [Operation], _ kept: inout [[Operation]]) -> Bool {
            zip(operations.dropFirst(), operations.dropFirst(2)).allSatisfy {
                dependent, dependency in
                hasEdge(from: dependency, to: dependent, &kept)
            }
        }

        static func hasEdge(
            from dependency: Operation, to dependent: Operation, _ kept: inout [[Operation]]
        ) -> Bool {
            guard dependent.holdsOthersBack, dependency.holdsOthersBack else { return false }
            kept.append(dependent.listedDependencies)
            return kept[kept.count - 1].contains { $0 === dependency }
        }
    }

    /// Edges that are left out.
    private struct Excluded {
        private var edges: [ObjectIdentifier: Set<ObjectIdentifier>] = [:]

        mutating func insert(from dependency: Operation, to dependent: Operation) {
            edges[ObjectIdentifier(dependent), default: []].insert(ObjectIdentifier(dependency))
        }

        mutating func remove(from dependency: Operation, to dependent: Operation) {
            edges[ObjectIdentifier(dependent)]?.remove(ObjectIdentifier(dependency))
        }

        func contains(from dependency: Operation, to dependent: Operation) -> Bool {
            if edges.isEmpty { return false }
            return edges[ObjectIdentifier(dependent)]?.contains(ObjectIdentifier(dependency))
                ?? false
        }
    }

    static func nextRank() -> Int {
        lastRank.wrappingAdd(gap, ordering: .relaxed).newValue
    }

    /// Keeps the order after the edge was linked; reports the cycle that it closes, if it does.
    ///
    /// - Complexity: O(1) if the edge agrees with the ranks; otherwise O(edges of the operations behind
    ///   `dependency` that rank above `dependent`).
    static func check(_ dependency: Operation, before dependent: Operation) {
        guard let cycle = cycle(through: dependency, before: dependent) else { return }
        OperationsDiagnostics.handler(.dependencyCycle(cycle.map(\.label)))
    }

    /// The cycle that the edge closes: `dependent`, `dependency`, … and `dependent` again; nil if none.
    ///
    /// Cycles that edges of others close by now, because those that they closed before are broken, are
    /// reported.
    static func cycle(through dependency: Operation, before dependent: Operation) -> [Operation]? {
        // The edge is linked: a search that starts from now on sees it, and one that may not have seen it
        // shows in the epoch. Linking ended with a sequentially consistent step, so the loads come after it.
        let before = epoch.load(ordering: .sequentiallyConsistent)
        if before & 1 == 0, dependency.currentRank < dependent.currentRank,
            !hasReported.load(ordering: .sequentiallyConsistent),
            epoch.load(ordering: .sequentiallyConsistent) == before
        {
            return nil
        }
        // Let go of after the lock is released: the last reference runs a user's deinit.
        var visited: [[Operation]] = []
        let found = lock.withLock {
            epoch.add(1, ordering: .sequentiallyConsistent)
            // Pairs with the end of linking: who has read the epoch before this has an edge that we see.
            atomicMemoryFence(ordering: .sequentiallyConsistent)
            defer { epoch.add(1, ordering: .sequentiallyConsistent) }
            return search(from: dependency, to: dependent, visited: &visited)
        }
        for cycle in found.byOthers {
            OperationsDiagnostics.handler(.dependencyCycle(cycle.map(\.label)))
        }
        return found.byEdge
    }

    /// Moves what lies behind `dependency` below `dependent`, or finds the way to it.
    private static func search(
        from dependency: Operation, to dependent: Operation, visited: inout [[Operation]]
    ) -> (byEdge: [Operation]?, byOthers: [[Operation]]) {
        guard dependency.holdsOthersBack else { return (nil, []) }
        var excluded = Excluded()
        let byOthers = lookAfterReported(&excluded, visited: &visited)
        var byEdge: [Operation]?
        if let cycle = place(dependency, below: dependent, excluded, visited: &visited) {
            // One that is cancelled waits for nothing, so no cycle holds at it.
            if dependent.holdsOthersBack { byEdge = cycle }
            remember(cycle)
        }
        hasReported.store(!reported.isEmpty, ordering: .sequentiallyConsistent)
        return (byEdge, byOthers)
    }

    /// Gives the edges of broken cycles their place. Returns the cycles that they close now.
    private static func lookAfterReported(
        _ excluded: inout Excluded, visited: inout [[Operation]]
    ) -> [[Operation]] {
        if reported.isEmpty { return [] }
        var broken: [(dependency: Operation, dependent: Operation)] = []
        reported.removeAll { cycle in
            guard let operations = cycle.operations(&visited) else { return true }
            let (dependent, dependency) = (operations[0], operations[1])
            // Asked once: who was refused it may add it again at any moment, and looks for cycles after that.
            guard ReportedCycle.hasEdge(from: dependency, to: dependent, &visited) else {
                return true
            }
            excluded.insert(from: dependency, to: dependent)
            if ReportedCycle.leadsBack(operations, &visited) { return false }
            broken.append((dependency, dependent))
            return true
        }
        var found: [[Operation]] = []
        for edge in broken {
            // Once it has its place it counts like any other, for the next of them too.
            excluded.remove(from: edge.dependency, to: edge.dependent)
            guard
                let cycle = place(
                    edge.dependency, below: edge.dependent, excluded, visited: &visited)
            else { continue }
            excluded.insert(from: edge.dependency, to: edge.dependent)
            remember(cycle)
            found.append(cycle)
        }
        return found
    }

    /// One cycle for each edge that closed some is enough: if that one breaks, the edge is looked at again.
    private static func remember(_ cycle: [Operation]) {
        let new = ReportedCycle(cycle)
        reported.removeAll { $0.isClosed(bySameEdgeAs: new) }
        reported.append(new)
    }

    private static func place(
        _ dependency: Operation, below dependent: Operation, _ excluded: Excluded,
        visited: inout [[Operation]]
    ) -> [Operation]? {
        if dependency.currentRank < dependent.currentRank { return nil }
        // What ranks from here on has to move below it. Lowered when there is no room for all; never up,
        // where others that depend on them may be.
        var floor = dependent.currentRank
        while true {
            let found = Behind(
                dependency, downTo: floor, until: dependent, excluded, visited: &visited)
            if let path = found.path { return [dependent] + path }
            let lowest = found.highestBelow
            let room = floor - lowest
            if found.operations.count < room {
                found.place(below: floor, above: lowest)
                return nil
            }
            floor = lowest
        }
    }

    /// The unfinished operations that an operation waits for, itself included, down to a rank.
    private struct Behind {
        /// Each after all that it waits for.
        private(set) var operations: [Operation] = []
        /// The rank of the next operation further down.
        private(set) var highestBelow: Int
        /// The way from the first operation to the one that was looked for, both included.
        private(set) var path: [Operation]?

        init(
            _ first: Operation, downTo floor: Int, until target: Operation,
            _ excluded: Excluded, visited: inout [[Operation]]
        ) {
            highestBelow = floor - 64 * OrderSearch.gap
            var seen: Set<ObjectIdentifier> = [ObjectIdentifier(first)]
            visited.append(first.listedDependencies)
            var trail = [(operation: first, rest: visited[visited.count - 1][...])]
            while let last = trail.indices.last {
                guard let next = trail[last].rest.popFirst() else {
                    operations.append(trail.removeLast().operation)
                    continue
                }
                if excluded.contains(from: next, to: trail[last].operation) { continue }
                if next === target {
                    path = trail.map(\.operation) + [target]
                    return
                }
                guard next.holdsOthersBack, seen.insert(ObjectIdentifier(next)).inserted else {
                    continue
                }
                let rank = next.currentRank
                if rank >= floor {
                    visited.append(next.listedDependencies)
                    trail.append((next, visited[visited.count - 1][...]))
                } else {
                    highestBelow = max(highestBelow, rank)
                }
            }
        }

        /// Spreads them evenly between two ranks.
        func place(below top: Int, above bottom: Int) {
            let step = (top - bottom) / (operations.count + 1)
            var rank = bottom
            for operation in operations {
                rank += step
                operation.rank.store(rank, ordering: .relaxed)
            }
        }
    }
}

extension Operation {
    fileprivate var currentRank: Int { rank.load(ordering: .relaxed) }

    /// Whether those that depend on it have to wait, and it waits for others itself.
    fileprivate var holdsOthersBack: Bool {
        let word = status
        return word.phase != .finished && !word.isCancelled
    }
}
