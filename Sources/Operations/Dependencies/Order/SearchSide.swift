import Synchronization

/// One half of a search for a way back: the operations that depend on an edge's dependent, or the
/// operations that the edge's dependency depends on.
///
/// Both halves are the same except for the direction. The comments describe the forward half. The
/// backward half compares labels with the opposite sign, their **keys**.
struct SearchSide {
    /// The result of a walk.
    enum End {
        /// All operations that can be reached within the limit have been visited.
        case exhausted
        case paused
        /// The two halves have met, at these visits of a dependency and its dependent.
        case met(dependency: Visit.Pointer, dependent: Visit.Pointer)
        /// Another search has marked an operation that this one needs.
        case contended
    }

    let isForward: Bool
    private(set) var visits: VisitList
    /// The highest key that is visited; at first the key of the edge's other end.
    var limit = 0
    /// The lowest key seen beyond the limit; nil if there is none.
    private(set) var bound: Int?
    /// The number of edges examined so far.
    private(set) var edgeCount = 0
    /// The index of the first visit whose edges have not all been examined.
    private var next = 0

    init(isForward: Bool, in memory: Visit.Pointer) {
        self.isForward = isForward
        visits = VisitList(in: memory)
    }

    func key(of label: Int) -> Int { isForward ? label : -label }
    func label(of key: Int) -> Int { isForward ? key : -key }

    // MARK: Marking

    /// Marks the operation where the side begins. Returns false if another search has marked it.
    mutating func begin(at operation: Operation, isPatient: Bool) -> Bool {
        let address = OperationAddress(operation)
        var backoff = Backoff()
        while true {
            let rank = Rank(bits: address.rank.pointee.load(ordering: .sequentiallyConsistent))
            if rank.isMarked {
                guard isPatient else { return false }
                backoff.pause()
            } else if mark(address, from: nil, rank) {
                return true
            }
        }
    }

    private mutating func mark(
        _ operation: OperationAddress, from origin: Visit.Pointer?, _ rank: Rank
    ) -> Bool {
        let visit = visits.append(
            Visit(operation: operation, label: rank.label, origin: origin))
        let isMarked = operation.rank.pointee.compareExchange(
            expected: rank.bits, desired: Rank(markedBy: visit).bits,
            ordering: .sequentiallyConsistent
        ).exchanged
        if !isMarked { visits.removeLast() }
        return isMarked
    }

    /// Stores the operations' ranks as the visits have them. From then on the operations' memory
    /// may be freed.
    func unmark() {
        for index in 0..<visits.count {
            let visit = visits[index]
            if visit.pointee.isAbsorbed { continue }
            visit.pointee.operation.rank.pointee.store(
                Rank(label: visit.pointee.label).bits, ordering: .releasing)
        }
    }

    // MARK: Walking

    /// Examines further edges.
    ///
    /// The edges of one operation are walked in one hold of the operation's lock. A walk that
    /// pauses in the middle of them starts with the first of them the next time.
    ///
    /// - Parameters:
    ///   - budget: how many edges to examine before the walk pauses.
    ///   - isPatient: whether to wait for other searches instead of giving up.
    ///   - absorbs: whether to go on through operations that the other half has visited.
    mutating func walk(
        atMost budget: Int = .max, against other: VisitList, isPatient: Bool, absorbs: Bool = false
    ) -> End {
        var left = budget
        var backoff = Backoff()
        while next < visits.count {
            let visit = visits[next]
            var end: End?
            let address = visit.pointee.operation
            let isWhole = address.withLock {
                guard address.status.holdsOthersBack, let edges = address.edges else { return true }
                if isForward {
                    return Edges.allSuccessors(edges) { edge in
                        if left == 0 { return false }
                        left -= 1
                        edgeCount += 1
                        if edge.isUnchecked { return true }
                        end = examine(
                            at: OperationAddress(edge.dependent), from: visit, other, absorbs)
                        return end == nil
                    }
                }
                return Edges.allDependencies(edges) { edge in
                    if left == 0 { return false }
                    left -= 1
                    edgeCount += 1
                    guard let dependency = edge.dependency, !edge.isUnchecked else {
                        return true
                    }
                    end = examine(at: OperationAddress(dependency), from: visit, other, absorbs)
                    return end == nil
                }
            }
            switch end {
            case .contended where isPatient: backoff.pause()
            case .some(let end): return end
            case nil where isWhole: next += 1
            case nil: return .paused
            }
        }
        return .exhausted
    }

    /// Visits a neighbour that is within the limit. Returns nil unless that ends the walk. The lock
    /// of `visit` is held, so the neighbour's memory is valid.
    private mutating func examine(
        at operation: OperationAddress, from visit: Visit.Pointer, _ other: VisitList,
        _ absorbs: Bool
    ) -> End? {
        guard operation.status.holdsOthersBack else { return nil }
        while true {
            let rank = Rank(bits: operation.rank.pointee.load(ordering: .sequentiallyConsistent))
            guard rank.isMarked else {
                let key = key(of: rank.label)
                if key > limit {
                    bound = min(bound ?? key, key)
                    return nil
                }
                if mark(operation, from: visit, rank) { return nil }
                continue
            }
            let marker = rank.visit
            if visits.contains(marker) { return nil }
            guard other.contains(marker) else { return .contended }
            if absorbs {
                absorb(marker, from: visit)
                return nil
            }
            return isForward
                ? .met(dependency: visit, dependent: marker)
                : .met(dependency: marker, dependent: visit)
        }
    }

    private mutating func absorb(_ marker: Visit.Pointer, from visit: Visit.Pointer) {
        guard !marker.pointee.isAbsorbed else { return }
        marker.pointee.isAbsorbed = true
        _ = visits.append(
            Visit(
                operation: marker.pointee.operation, label: marker.pointee.label, origin: visit))
    }

    /// Makes the next walk begin at the first visit, with another limit.
    private mutating func restart(upTo limit: Int) {
        self.limit = limit
        bound = nil
        next = 0
    }

    // MARK: Placing

    /// Moves all visited operations beyond the limit, in their present order, and below the bound
    /// if there is one. If the labels run out, moves the operations up to the limit instead. The
    /// side is exhausted. Returns false if the side gave up because of another search.
    mutating func move(against other: VisitList, isPatient: Bool) -> Bool {
        let start = limit
        var exponent = 0
        while true {
            let visited = sortedVisits()
            let groups = Self.countOfDifferentLabels(visited)
            // Usually there are enough free labels below the bound. If not, the operations in the
            // way move too: as many of them as leave enough free labels among all of them for later
            // moves. (Bender, Cole, Demaine, Farach-Colton, Zito, "Two simplified algorithms for
            // maintaining order in a list", 2002: the longer a range, the emptier it has to be.)
            let isSparse = exponent == 0 || Double(groups) <= Self.capacity(ofRange: exponent)
            if let spacing = spacing(for: groups, from: start, isWidened: exponent > 0),
                isSparse || bound == nil
            {
                spread(visited, from: start, spacing)
                return true
            }
            if exponent == 0, let bound {
                exponent = Int.bitWidth - (bound - start).leadingZeroBitCount
            }
            exponent += 2
            guard exponent < Rank.exponentLimit, start <= Rank.highestLabel - 1 << exponent else {
                level(to: start)
                return true
            }
            restart(upTo: start + 1 << exponent)
            if case .contended = walk(against: other, isPatient: isPatient, absorbs: true) {
                return false
            }
        }
    }

    private static func capacity(ofRange exponent: Int) -> Double {
        (0..<exponent).reduce(1) { capacity, _ in capacity * 4 / 3 }
    }

    /// Returns the distance between the new labels; nil if there are not enough free labels.
    private func spacing(for groups: Int, from start: Int, isWidened: Bool) -> Int? {
        guard let bound else {
            var spacing = Rank.step
            if isWidened,
                let exponent = (0..<Rank.exponentLimit).first(where: {
                    Self.capacity(ofRange: $0) >= Double(groups)
                })
            {
                spacing = max(spacing, 1 << exponent / (groups + 1))
            }
            return start <= Rank.highestLabel - (groups + 1) * spacing ? spacing : nil
        }
        let spacing = (bound - start) / (groups + 1)
        return spacing > 0 ? spacing : nil
    }

    private func sortedVisits() -> [Visit.Pointer] {
        let all = (0..<visits.count).map { visits[$0] }
        if all.count == 1 { return all }
        return all.sorted { key(of: $0.pointee.label) < key(of: $1.pointee.label) }
    }

    private static func countOfDifferentLabels(_ sorted: [Visit.Pointer]) -> Int {
        zip(sorted, sorted.dropFirst()).reduce(1) { count, pair in
            pair.0.pointee.label == pair.1.pointee.label ? count : count + 1
        }
    }

    /// Gives the visits new labels, in their order. Equal labels stay equal: the order of such
    /// operations is not known here.
    private func spread(_ sorted: [Visit.Pointer], from start: Int, _ spacing: Int) {
        var new = start
        var old: Int?
        for visit in sorted {
            if visit.pointee.label != old { new += spacing }
            old = visit.pointee.label
            visit.pointee.label = label(of: new)
        }
    }

    /// Moves all visited operations up to one label, at least. This needs neither free labels nor
    /// an order.
    private func level(to start: Int) {
        for index in 0..<visits.count {
            let visit = visits[index]
            visit.pointee.label = label(of: max(key(of: visit.pointee.label), start))
        }
    }

    /// Moves all visited operations, and all that can be reached through the other half, up to the
    /// limit. Returns false if the side gave up because of another search.
    mutating func level(against other: VisitList, isPatient: Bool) -> Bool {
        restart(upTo: limit)
        if case .contended = walk(against: other, isPatient: isPatient, absorbs: true) {
            return false
        }
        level(to: limit)
        return true
    }
}
