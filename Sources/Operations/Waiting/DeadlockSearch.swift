import OperationsRuntime

/// Determines whether a wait can never end because it waits, through other operations, for itself.
///
/// An operation is **stuck** if one of its blockers is stuck, and a blocker is stuck if enough of
/// its operations are: one dependency, or all holders of the slots, or so many holders of permits
/// that the remaining permits do not suffice. The operations that contain the wait are stuck for as
/// long as the wait lasts.
///
/// Operations that wait for each other in a circle are stuck, unless the circle consists only of
/// dependencies, strict orders, barriers, groups and places in the lines for permits. Such a circle
/// can be broken, and is reported by `CycleWatch`.
///
/// Only a blocker that nothing but an outside intervention can remove makes an operation stuck. So
/// an operation is not stuck if a circumstance that may change at any time keeps it from starting:
/// a queue that is suspended or of width 0, an `isReady` that may change its answer, a subclass
/// that is started by hand and follows its own rules.
///
/// The search reads one object after the other, without a common lock. Its result is sound all the
/// same: an operation found to be stuck cannot have continued as long as the operations that it is
/// stuck behind had not. A line for permits is the exception. An operation that is first in line,
/// and whose queue has no slot for it, lets the others go ahead; one that has just done so may have
/// been read as first in line before, and as waiting for a slot after that. A search that begins
/// after the first one no longer finds it in line.
struct DeadlockSearch {
    /// A step from an operation through a blocker to the next operation.
    struct Step {
        let operation: Operation
        let blocker: Blocker
        let next: Operation
    }

    /// The most operations that a search visits. The search makes no statement about waits that
    /// reach further.
    private static let limit = 4_000

    private let inside: [Operation]
    private var graph: BlockerGraph
    private var nodes: [BlockerGraph.Node] { graph.nodes }

    /// Returns the path from the waiting operation through the target of the wait back to one of
    /// the operations that contain the wait; nil if the wait may end.
    static func circle(of wait: BlockedWait) -> [Step]? {
        guard let waiter = wait.inside.last else { return nil }
        var search = DeadlockSearch(inside: wait.inside)
        let target = search.graph.placed(Blocker(waitFor: wait.target, .waiting))
        search.graph.explore { lastingBlockers(of: $0) }
        let stuck = search.stuck()
        guard target.isStuck(stuck) else { return nil }
        for (place, _) in target.members where stuck[place] {
            guard let steps = search.path(from: place, stuck) else { continue }
            let first = Step(
                operation: waiter, blocker: target.blocker, next: search.nodes[place].operation)
            return [first] + steps
        }
        return nil
    }

    private init(inside: [Operation]) {
        self.inside = inside
        graph = BlockerGraph(limit: Self.limit, endless: inside)
    }

    /// Returns the blockers that nothing but an outside intervention can remove; none if a
    /// circumstance may change.
    private static func lastingBlockers(of operation: Operation) -> [Blocker] {
        let state = operation.status
        // At its deadline an operation that has not begun ends, whatever it waits for.
        if !state.isAtWork, operation.attemptController?.deadline != nil { return [] }
        let blockers = operation.blockers(in: state, .waiting)
        return blockers.contains { $0.isCircumstance } ? [] : blockers
    }

    // MARK: Concluding

    /// Returns which operations are stuck.
    ///
    /// Waits and slots count as stuck until the contrary is known; dependencies count as stuck only
    /// when that is known. So circles of waits and slots stand, and circles of dependencies do not.
    ///
    /// - Complexity: O(nodes and blockers), once more for each circle of dependencies out of which
    ///   another blocker leads.
    private func stuck() -> [Bool] {
        var possible = nodes.map { _ in true }
        while true {
            graph.strikeOut(&possible)
            let certain = stuck(possible)
            if certain == possible { return certain }
            possible = certain
        }
    }

    /// Returns which operations are stuck, if waits for the operations in `possible` are stuck.
    private func stuck(_ possible: [Bool]) -> [Bool] {
        var certain = nodes.map { node in
            node.isEndless
                || node.blockers.contains { !$0.blocker.isEdge && $0.isStuck(possible) }
        }
        var sums = nodes.map { $0.blockers.map { _ in 0 } }
        var found = nodes.indices.filter { certain[$0] }
        while let place = found.popLast() {
            for use in nodes[place].uses where !certain[use.node] {
                let blocker = nodes[use.node].blockers[use.blocker]
                guard blocker.blocker.isEdge else { continue }
                sums[use.node][use.blocker] += use.weight
                guard sums[use.node][use.blocker] >= blocker.threshold else { continue }
                certain[use.node] = true
                found.append(use.node)
            }
        }
        return certain
    }

    /// Returns the shortest path from a stuck operation to one of the operations that contain the
    /// wait.
    private func path(from start: Int, _ stuck: [Bool]) -> [Step]? {
        var cameBy: [Int: (place: Int, blocker: BlockerGraph.Placed)] = [:]
        var reached = [start]
        var next = 0
        while next < reached.count {
            let place = reached[next]
            next += 1
            if nodes[place].isEndless {
                var steps: [Step] = []
                var last = place
                while last != start, let step = cameBy[last] {
                    steps.append(
                        Step(
                            operation: nodes[step.place].operation, blocker: step.blocker.blocker,
                            next: nodes[last].operation))
                    last = step.place
                }
                return steps.reversed()
            }
            for blocker in nodes[place].blockers where blocker.isStuck(stuck) {
                for (other, _) in blocker.members
                where stuck[other] && other != start && cameBy[other] == nil {
                    cameBy[other] = (place, blocker)
                    reached.append(other)
                }
            }
        }
        return nil
    }
}

extension Blocker {
    /// Whether the blocker is an edge: a circle that consists of edges only does not count.
    fileprivate var isEdge: Bool {
        switch kind {
        case .dependencies, .strictOrder, .barrier, .group, .permitLine: true
        default: false
        }
    }

    /// Whether the blocker may be gone at any time, without any operation going on. (A hold ends by
    /// itself, but only the other blockers are left then.)
    fileprivate var isCircumstance: Bool {
        switch kind {
        case .notStarted, .readiness, .suspension, .zeroWidth: true
        default: false
        }
    }
}
