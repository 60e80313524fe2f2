import Synchronization

/// An operation's place in the order of the graph: a label, or the mark of a search that has
/// visited the operation.
///
/// The labels are at first the order in which the operations were made. An edge that agrees with
/// the ranks costs two loads. Any other edge needs a search; see ``GraphOrdering``.
struct Rank {
    /// The distance between two operations that are made one after the other.
    static let gap = 1 << 14
    /// The distance between two operations that are moved to where the labels are free. It is less
    /// than the gap, so that operations made later are soon beyond the moved ones.
    static let step = 1 << 8
    static let highestLabel = 1 << 61
    static let exponentLimit = 60

    /// Twice the label, or the address of the visit plus 1.
    let bits: Int

    init(bits: Int) { self.bits = bits }
    init(label: Int) { bits = label << 1 }

    var isMarked: Bool {
        @inline(__always) get { bits & 1 != 0 }
    }
    var label: Int { bits >> 1 }
}

// MARK: Ranks of new operations and edges

extension Rank {
    private static let lastRank = Atomic<Int>(0)

    static func next() -> Int {
        lastRank.wrappingAdd(Rank(label: Rank.gap).bits, ordering: .relaxed).newValue
    }

    /// Returns whether an edge between the two operations needs no search, because their ranks
    /// agree with the edge or can be made to agree at once. The locks of both operations are held,
    /// and stay held until the edge is linked.
    @inline(__always)
    static func agree(_ dependency: Operation, before dependent: Operation) -> Bool {
        let low = Rank(bits: dependency.rank.load(ordering: .acquiring))
        let high = Rank(bits: dependent.rank.load(ordering: .acquiring))
        if low.isMarked || high.isMarked { return false }
        return low.bits < high.bits || moveAlone(dependency, low, before: dependent, high)
    }

    /// Moves the dependent above the dependency if nothing depends on the dependent yet, or else
    /// the dependency below the dependent if the dependency depends on nothing. No search needs the
    /// moved operation where it was.
    @inline(never)
    private static func moveAlone(
        _ dependency: Operation, _ low: Rank, before dependent: Operation, _ high: Rank
    ) -> Bool {
        if dependent.edges.load(ordering: .relaxed).map(Edges.hasSuccessors) != true,
            low.label <= Rank.highestLabel
        {
            return dependent.rank.compareExchange(
                expected: high.bits, desired: Rank(label: low.label + Rank.step).bits,
                ordering: .sequentiallyConsistent
            ).exchanged
        }
        guard !dependency.status.has(.hasDependencies), high.label >= -Rank.highestLabel else {
            return false
        }
        return dependency.rank.compareExchange(
            expected: low.bits, desired: Rank(label: high.label - Rank.step).bits,
            ordering: .sequentiallyConsistent
        ).exchanged
    }
}

/// The search for the place of an edge that does not agree with the ranks, and for the cycle that
/// the edge may close. It lies above the core, in `Dependencies/Order/`.
protocol GraphOrdering: AnyObject {
    /// Finds the place of an edge to this operation, and reports the cycle that the edge closes, if
    /// there is one. The edge is unchecked, and stays.
    func findPlace(of edge: Edges.EdgePointer, from dependency: Operation)
}

/// An object that is notified when a cycle of dependencies may have been broken: after a member has
/// been cancelled, has finished or has lost a dependency. No lock is held.
protocol CycleWatcher: AnyObject, Sendable {
    func recheck()
}

extension Operation {
    /// Checks again the cycles that the operation was a member of.
    func recheckStandingCycles() {
        guard existingExtras != nil else { return }
        for cycle in withExtras({ $0.standingCycles }) { cycle.recheck() }
    }
}
