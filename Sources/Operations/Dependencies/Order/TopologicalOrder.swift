import Synchronization

/// Finds a cycle when the edge that closes it is added.
///
/// Every operation has a ``Rank``, and no dependency ranks above its dependents. An edge that does
/// not agree with the ranks is *unchecked* until a search has moved operations so that the edge
/// agrees: either some of the operations that depend on the dependent move above the dependency, or
/// some of the operations that the dependency depends on move below the dependent. The search walks
/// both ways in turn and moves the smaller part, or finds the way back, which is the cycle.
///
/// A two-way search after Bender, Fineman, Gilbert and Tarjan, "A new approach to incremental cycle
/// detection and related problems" (2015), and Katriel and Bodlaender, "Online topological
/// ordering" (2006). TopologicalOrder.md, "Marks", says why several searches may run at the same
/// time.
enum TopologicalOrder {
    /// The lock that a search takes once it has met another search.
    private static let contention = SpinLock()
    private static let firstBudget = 8

    // MARK: Searching

    /// Finds the place of an unchecked edge in the order, and reports the cycle that the edge
    /// closes, if there is one.
    ///
    /// - Complexity: O(edges of what can be reached from one of the two operations, and ranks
    ///   between them), for the operation for which that is less.
    static func check(
        _ edge: Edges.EdgePointer, from dependency: Operation, to dependent: Operation
    ) {
        guard let cycle = search(.place(edge, keepsCycle: true), from: dependency, to: dependent)
        else { return }
        StandingCycle.report(cycle)
    }

    /// Does the same as ``check(_:from:to:)``, but returns the cycle: `dependent`, `dependency`, …
    /// and `dependent` again. The edge is then still unchecked, and the caller removes it.
    static func cycle(
        closedBy edge: Edges.EdgePointer, from dependency: Operation, to dependent: Operation
    ) -> [Operation]? {
        search(.place(edge, keepsCycle: false), from: dependency, to: dependent)
    }

    /// Returns a cycle through a checked edge, if there is one, in the same form as
    /// ``cycle(closedBy:from:to:)`` does.
    static func cycle(through dependency: Operation, before dependent: Operation) -> [Operation]? {
        search(.findCycle, from: dependency, to: dependent)
    }

    private enum Purpose {
        /// An unchecked edge has to find its place.
        ///
        /// - Parameter keepsCycle: whether the edge stays even if it closes a cycle.
        case place(Edges.EdgePointer, keepsCycle: Bool)
        case findCycle

        var edge: Edges.EdgePointer? {
            if case .place(let edge, _) = self { edge } else { nil }
        }
    }

    private enum Outcome {
        case over(cycle: [Operation]?)
        /// Another search was in the way, or another thread removed an edge of the way back.
        ///
        /// - Parameter retained: references to be released when nothing is marked and no lock is
        ///   held.
        case undone(isContended: Bool, retained: [Operation])
    }

    private static func search(
        _ purpose: Purpose, from dependency: Operation, to dependent: Operation
    ) -> [Operation]? {
        OperationAddress.prepare()
        return withUnsafeTemporaryAllocation(
            of: Visit.self, capacity: 2 * VisitList.firstCapacity
        ) { memory in
            guard let memory = memory.baseAddress else {
                fatalError("unreachable: the capacity is not 0")
            }
            var isPatient = false
            while true {
                let outcome =
                    isPatient
                    ? contention.withLock {
                        attempt(purpose, dependency, dependent, memory, isPatient: true)
                    }
                    : attempt(purpose, dependency, dependent, memory, isPatient: false)
                switch outcome {
                case .over(let cycle): return cycle
                case .undone(let isContended, _): isPatient = isContended
                }
            }
        }
    }

    private static func attempt(
        _ purpose: Purpose, _ dependency: Operation, _ dependent: Operation,
        _ memory: Visit.Pointer, isPatient: Bool
    ) -> Outcome {
        // No cycle goes through an operation that waits for nothing, or that nothing waits for.
        guard dependency.status.holdsOthersBack, dependent.status.holdsOthersBack else {
            return .over(cycle: nil)
        }
        var forward = SearchSide(isForward: true, in: memory)
        var backward = SearchSide(isForward: false, in: memory + VisitList.firstCapacity)
        defer {
            backward.unmark()
            forward.unmark()
            forward.visits.deallocate()
            backward.visits.deallocate()
            let steps = forward.edgeCount + backward.edgeCount
            ThreadContext.withCurrent { $0.orderSteps &+= steps }
        }
        let contended = Outcome.undone(isContended: true, retained: [])
        guard forward.begin(at: dependent, isPatient: isPatient),
            backward.begin(at: dependency, isPatient: isPatient)
        else { return contended }
        let (low, high) = (backward.visits[0].pointee.label, forward.visits[0].pointee.label)
        if low < high {
            if let edge = purpose.edge { markChecked(edge, from: dependency, to: dependent) }
            return .over(cycle: nil)
        }
        forward.limit = forward.key(of: low)
        backward.limit = backward.key(of: high)
        var budget = firstBudget
        var isForward = false
        while true {
            let end =
                isForward
                ? forward.walk(atMost: budget, against: backward.visits, isPatient: isPatient)
                : backward.walk(atMost: budget, against: forward.visits, isPatient: isPatient)
            switch end {
            case .paused:
                if isForward { budget *= 2 }
                isForward.toggle()
            case .contended: return contended
            case .met(let inner, let outer):
                let path = CyclePath(dependency, dependent, inner, outer)
                return closed(path, purpose, &forward, backward.visits, isPatient)
            case .exhausted:
                guard let edge = purpose.edge else { return .over(cycle: nil) }
                let isMoved =
                    isForward
                    ? forward.move(against: backward.visits, isPatient: isPatient)
                    : backward.move(against: forward.visits, isPatient: isPatient)
                guard isMoved else { return contended }
                markChecked(edge, from: dependency, to: dependent)
                return .over(cycle: nil)
            }
        }
    }

    /// Handles two halves that have met: the edge closes a cycle if all of the cycle is there at
    /// this moment.
    private static func closed(
        _ path: CyclePath, _ purpose: Purpose, _ forward: inout SearchSide, _ backward: VisitList,
        _ isPatient: Bool
    ) -> Outcome {
        let (members, isWhole) = path.members()
        guard isWhole else {
            // Without its closing edge there is nothing to search for.
            if members.isEmpty { return .over(cycle: nil) }
            return .undone(isContended: false, retained: members)
        }
        if case .place(let edge, keepsCycle: true) = purpose {
            guard forward.level(against: backward, isPatient: isPatient) else {
                return .undone(isContended: true, retained: members)
            }
            markChecked(edge, from: path.dependency, to: path.dependent)
        }
        return .over(cycle: [path.dependent] + members)
    }

    /// Marks the edge as checked, because it agrees with the ranks from now on, unless another
    /// thread has removed it. Both operations are marked.
    private static func markChecked(
        _ edge: Edges.EdgePointer, from dependency: Operation, to dependent: Operation
    ) {
        dependent.withLock(and: dependency) {
            // The edges of a finished operation may be gone, and no longer count.
            guard dependent.status.phase != .finished,
                edge.dependency.map(OperationAddress.init) == OperationAddress(dependency)
            else { return }
            edge.isUnchecked = false
        }
    }

    /// The operations of a cycle that a search has found.
    private struct CyclePath {
        let dependency: Operation
        let dependent: Operation
        /// The members from the edge's dependency to its dependent, each after the operation that
        /// depends on it.
        private let addresses: [OperationAddress]

        /// - Parameters:
        ///   - inner: the visit, by the forward half, of the dependency where the halves met.
        ///   - outer: the visit, by the backward half, of that dependency's dependent.
        init(
            _ dependency: Operation, _ dependent: Operation, _ inner: Visit.Pointer,
            _ outer: Visit.Pointer
        ) {
            self.dependency = dependency
            self.dependent = dependent
            let backward = sequence(first: outer) { $0.pointee.origin }.map(\.pointee.operation)
            let forward = sequence(first: inner) { $0.pointee.origin }.map(\.pointee.operation)
            addresses = backward.reversed() + forward
        }

        /// Returns the operations behind the dependent, up to the first edge that no longer exists.
        ///
        /// All of them are marked: an edge between them that is removed now does not come back as a
        /// checked edge. So if all edges are found here, all of them have existed at the same time.
        func members() -> (retained: [Operation], isWhole: Bool) {
            var retained: [Operation] = []
            var last = OperationAddress(dependent)
            for next in addresses {
                let isClosing = retained.isEmpty
                let operation: Operation? = last.withLock {
                    guard last.status.holdsOthersBack, let edges = last.edges else { return nil }
                    let isMissing = Edges.allDependencies(edges) { edge in
                        edge.dependency.map(OperationAddress.init) != next
                            || (edge.isUnchecked && !isClosing)
                    }
                    // The edge retains the operation.
                    return isMissing ? nil : next.operation
                }
                guard let operation else { return (retained, false) }
                retained.append(operation)
                last = next
            }
            return (retained, true)
        }
    }
}

extension Operation: GraphOrdering {
    func findPlace(of edge: Edges.EdgePointer, from dependency: Operation) {
        TopologicalOrder.check(edge, from: dependency, to: self)
    }
}
