import OperationsRuntime

/// Finds operations that wait for each other in a circle: because of dependencies, barriers, strict
/// orders, groups and waits in bodies. Cycles.md describes who searches, and when.
///
/// A circle is given as a list: each operation waits for the next one, and the first is repeated at
/// the end.
///
/// The search removes what can go on, until nothing follows from a removal, as ``DeadlockSearch``
/// does. So an operation that needs one of several is in a circle only if each of them is stuck.
enum CircleSearch {
    /// What a search has found.
    struct Findings {
        var circles: [[Operation]] = []
        /// Whether the search has seen everything that can be reached.
        var isComplete = true
    }

    /// The most circles that one search returns.
    private static let circleLimit = 10

    /// Returns circles that can be reached from some operations and have no member in common.
    ///
    /// - Parameters:
    ///   - limit: the number of operations to visit.
    ///   - known: the members of circles that need not be found.
    static func circles(
        from firsts: [Operation], limit: Int, besides known: Set<ObjectIdentifier>
    ) -> Findings {
        var graph = BlockerGraph(limit: limit)
        for operation in firsts { graph.place(of: operation) }
        graph.explore { $0.blockers(in: $0.status, .standing) }
        var stuck = graph.nodes.map { _ in true }
        graph.strikeOut(&stuck)
        var findings = Findings(isComplete: graph.isComplete)
        let stuckPlaces = stuck.indices.filter { stuck[$0] }
        guard !stuckPlaces.isEmpty else { return findings }

        var members = known
        var walk = DepthFirstWalk(from: stuckPlaces) { $0 }
        while let step = walk.next() {
            switch step {
            case .entered(let place):
                walk.follow(
                    graph.nodes[place].blockers.filter { $0.isStuck(stuck) }
                        .flatMap { $0.members.map(\.place) }.filter { stuck[$0] })
            case .cycle(let start):
                let circle = shortened(walk.path[start...].map { graph.nodes[$0].operation })
                let ids = circle.map { ObjectIdentifier($0) }
                guard members.isDisjoint(with: ids) else { break }
                let closed = circle + circle.prefix(1)
                guard stands(closed) else { break }
                members.formUnion(ids)
                findings.circles.append(closed)
                if findings.circles.count == circleLimit {
                    findings.isComplete = false
                    return findings
                }
            case .left: break
            }
        }
        return findings
    }

    /// Leaves out operations through which a strict order leads in one queue, one after the other:
    /// the last of them holds back the first. The circle is not closed.
    private static func shortened(_ circle: [Operation]) -> [Operation] {
        let isOrdered = circle.indices.map { place in
            let next = circle[(place + 1) % circle.count]
            return circle[place].blocker(for: next)?.isStrictOrder == true
        }
        return circle.indices.filter { place in
            !(isOrdered[place] && isOrdered[(place + circle.count - 1) % circle.count])
        }.map { circle[$0] }
    }

    /// Whether each of the operations waits for the next one, all at one moment.
    ///
    /// An operation that waits for another one by something else than a dependency waits for it
    /// until one of them goes on, and never again. So it is enough to find this before the moment
    /// at which all dependencies are found, and after it.
    static func stands(_ circle: [Operation]) -> Bool {
        let others = Set(
            zip(circle, circle.dropFirst()).enumerated()
                .filter { _, pair in pair.0.isKept(by: pair.1) }.map(\.offset))
        guard CycleSearch.stands(circle, besides: others) else { return false }
        return others.allSatisfy { circle[$0].isKept(by: circle[$0 + 1]) }
    }

    /// The most operations whose reasons a report gives.
    private static let sentenceLimit = 9

    /// Returns the report on a circle.
    static func finding(about circle: [Operation]) -> OperationsDiagnostics.Finding {
        // The reason of the operation behind a barrier names the barrier, which has no name.
        let shown = circle.dropLast().indices.filter { !circle[$0].status.has(.barrier) }
        let names = (shown + shown.prefix(1)).map { circle[$0].label }
        var sentences: [String] = []
        var isOfDependencies = true
        for (place, next) in zip(shown, names.dropFirst()) {
            let operation = circle[place]
            guard let blocker = operation.blocker(for: circle[place + 1]) else { continue }
            if !blocker.isOfDependencies { isOfDependencies = false }
            guard sentences.count < sentenceLimit else { continue }
            sentences.append(blocker.reason([next]).sentence(about: operation.label))
        }
        if sentences.count < shown.count { sentences.append("and so on") }
        return isOfDependencies
            ? .dependencyCycle(names)
            : .circularWait(names, because: sentences.joined(separator: "; "))
    }
}

extension Operation {
    /// The reason for which the operation waits for another one, if it does; a dependency only if
    /// there is no other reason.
    fileprivate func blocker(for other: Operation) -> Blocker? {
        let blockers = blockers(in: status, .standing).filter { blocker in
            blocker.isStrictOrder
                ? precedes(other) : blocker.operations.contains { $0 === other }
        }
        return blockers.first { !$0.isOfDependencies } ?? blockers.first
    }

    /// Whether the operation waits for another one by something else than a dependency.
    fileprivate func isKept(by other: Operation) -> Bool {
        blocker(for: other)?.isOfDependencies == false
    }

    /// Whether a strict order wants another operation of the same queue to start before this one.
    private func precedes(_ other: Operation) -> Bool {
        guard let queue = retainedQueue(), other.retainedQueue() === queue else { return false }
        return queue.snapshot { $0.ready.order.isStrict && other.place < place }
            && other.status.isHeldInQueue
    }
}

extension Blocker {
    fileprivate var isStrictOrder: Bool {
        if case .strictOrder = kind { true } else { false }
    }
    fileprivate var isOfDependencies: Bool {
        if case .dependencies = kind { true } else { false }
    }
}
