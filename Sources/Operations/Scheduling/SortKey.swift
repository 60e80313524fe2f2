import OperationsRuntime

/// The turn of an operation among the ready operations of its priority or, if the queue ages its
/// operations, among all ready operations. The least key goes first.
struct SortKey: Comparable {
    static let noDeadline = Int64.max

    /// The negative of the operation's level at time 0, if the queue ages its operations; see
    /// ``ReadyOrder/sortKey(_:place:lane:readySince:)``.
    var step: Int64 = 0
    /// The deadline on the time axis of the queue's clock. Operations without a deadline go last.
    var deadline = noDeadline
    /// A place: the operation goes before all that were added at this place or later. In the order
    /// last in, first out, the negative of the operation's place.
    var number: Int
    /// Between two operations that are otherwise equal, the one that was rescheduled first goes
    /// first.
    var ticket = 0

    static func < (a: SortKey, b: SortKey) -> Bool {
        if a.step != b.step { return a.step < b.step }
        if a.deadline != b.deadline { return a.deadline < b.deadline }
        return (a.number, a.ticket) < (b.number, b.ticket)
    }

    /// Whether this key, in an order without aging, goes before an operation without a deadline
    /// that has that number and was never rescheduled.
    func isBefore(_ number: Int) -> Bool {
        deadline != Self.noDeadline || self.number <= number
    }
}

/// The new places of operations that the ring has moved. Both old and new places rise.
struct Renumbering {
    let places: [(old: Int, new: Int)]
    let tail: Int

    /// Returns the new place of the first operation that was at `old` or behind it. A key that went
    /// before all operations from `old` on now goes before that operation.
    ///
    /// - Complexity: O(log n).
    func first(from old: Int) -> Int {
        let index = places.partitioningIndex { $0.old >= old }
        return index < places.count ? places[index].new : tail
    }

    /// Returns the new place of the operation that was at `old`; nil if there was none.
    func callAsFunction(_ old: Int) -> Int? {
        let index = places.partitioningIndex { $0.old >= old }
        guard index < places.count, places[index].old == old else { return nil }
        return places[index].new
    }
}
