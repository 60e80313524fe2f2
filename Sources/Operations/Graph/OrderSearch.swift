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
/// A cycle that was found stays, for cancelling a member breaks it. As long as it does, its last edge is on the
/// list of those that disagree. An addition from where such an edge can be reached, by the ranks, and can lead
/// back, searches without regard to ranks, and joins the list if it does not agree either.
enum OrderSearch {
    private static let lastRank = Atomic<Int>(0)
    /// Between two operations that are made one after the other.
    private static let gap = 1 << 16

    /// Odd while ranks are being changed.
    private static let epoch = Atomic<Int>(0)
    private static let lock = BriefLock()
    /// Guarded by the lock.
    nonisolated(unsafe) private static var disagreeing: [Disagreement] = []
    private static let hasDisagreements = Atomic<Bool>(false)

    /// An edge whose dependency does not rank below its dependent.
    private struct Disagreement {
        weak var dependency: Operation?
        weak var dependent: Operation?

        /// Its two ends, if it still holds anybody back.
        func ends(_ kept: inout [[Operation]]) -> (dependency: Operation, dependent: Operation)? {
            guard let dependency, let dependent else { return nil }
            kept.append([dependency, dependent])
            kept.append(dependent.listedDependencies)
            guard dependency.holdsOthersBack, dependent.holdsOthersBack,
                kept[kept.count - 1].contains(where: { $0 === dependency })
            else { return nil }
            return (dependency, dependent)
        }
    }

    static func nextRank() -> Int {
        lastRank.add(gap, ordering: .relaxed).newValue
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
    static func cycle(through dependency: Operation, before dependent: Operation) -> [Operation]? {
        // The edge is linked: a search that starts from now on sees it, and one that may not have seen it
        // shows in the epoch. Linking was a read-modify-write, so the loads are not moved before it.
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        let before = epoch.load(ordering: .sequentiallyConsistent)
        if before & 1 == 0, dependency.currentRank < dependent.currentRank,
            !hasDisagreements.load(ordering: .sequentiallyConsistent),
            epoch.load(ordering: .sequentiallyConsistent) == before
        {
            return nil
        }
        // Let go of after the lock is released: the last reference runs a user's deinit.
        var visited: [[Operation]] = []
        return lock.withLock {
            epoch.add(1, ordering: .sequentiallyConsistent)
            defer { epoch.add(1, ordering: .sequentiallyConsistent) }
            return search(from: dependency, to: dependent, visited: &visited)
        }
    }

    /// Moves what lies behind `dependency` below `dependent`, or finds the way to it.
    private static func search(
        from dependency: Operation, to dependent: Operation, visited: inout [[Operation]]
    ) -> [Operation]? {
        guard dependency.holdsOthersBack else { return nil }
        let agrees = dependency.currentRank < dependent.currentRank
        let ranksProve = !mayLeadOverDisagreements(
            from: dependency, to: dependent, visited: &visited)
        if agrees, ranksProve { return nil }
        let cycle =
            ranksProve
            ? place(dependency, below: dependent, visited: &visited)
            : Behind(dependency, downTo: .min, until: dependent, visited: &visited).path.map {
                [dependent] + $0
            }
        if cycle != nil || (!agrees && !ranksProve) {
            disagreeing.append(Disagreement(dependency: dependency, dependent: dependent))
            hasDisagreements.store(true, ordering: .sequentiallyConsistent)
        }
        // One that is cancelled waits for nothing, so no cycle holds at it.
        return dependent.holdsOthersBack ? cycle : nil
    }

    /// Whether a way from one to the other may lead over edges that disagree. Forgets those that are gone.
    private static func mayLeadOverDisagreements(
        from dependency: Operation, to dependent: Operation, visited: inout [[Operation]]
    ) -> Bool {
        if disagreeing.isEmpty { return false }
        var canBeReached = false
        var canLeadBack = false
        disagreeing.removeAll { edge in
            guard let ends = edge.ends(&visited) else { return true }
            // All other edges lead from higher ranks to lower ones.
            if ends.dependent.currentRank <= dependency.currentRank { canBeReached = true }
            if ends.dependency.currentRank >= dependent.currentRank { canLeadBack = true }
            return false
        }
        hasDisagreements.store(!disagreeing.isEmpty, ordering: .sequentiallyConsistent)
        return canBeReached && canLeadBack
    }

    private static func place(
        _ dependency: Operation, below dependent: Operation, visited: inout [[Operation]]
    ) -> [Operation]? {
        // What ranks from here on has to move below it. Lowered when there is no room for all; never up,
        // where others that depend on them may be.
        var floor = dependent.currentRank
        while true {
            let found = Behind(
                dependency, downTo: floor, until: dependent, visited: &visited)
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
            visited: inout [[Operation]]
        ) {
            highestBelow = floor == .min ? .min : floor - 64 * OrderSearch.gap
            var seen: Set<ObjectIdentifier> = [ObjectIdentifier(first)]
            visited.append(first.listedDependencies)
            var trail = [(operation: first, rest: visited[visited.count - 1][...])]
            while let last = trail.indices.last {
                guard let next = trail[last].rest.popFirst() else {
                    operations.append(trail.removeLast().operation)
                    continue
                }
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
