/// When an operation goes among the ready ones of its priority: the least turn goes first.
struct SortKey: Comparable {
    static let noDeadline = Int64.max

    /// On the time axis of the queue's clock; those without one come last.
    var deadline = noDeadline
    /// A place, and before all that were added at this place or later; or, last in first out, its negative.
    var number: Int
    /// Of two that are otherwise equal the one that was moved first goes first.
    var ticket = 0

    static func < (a: SortKey, b: SortKey) -> Bool {
        if a.deadline != b.deadline { return a.deadline < b.deadline }
        return (a.number, a.ticket) < (b.number, b.ticket)
    }

    /// Whether it comes before an operation without deadline that has that number and was never moved.
    func isBefore(_ number: Int) -> Bool {
        deadline != Self.noDeadline || self.number <= number
    }
}

/// What places become when the ring moves its operations; both rise.
struct Renumbering {
    let places: [(old: Int, new: Int)]
    let tail: Int

    /// The place of the first operation that was at `old` or behind: what was before all that were added later
    /// is before that one.
    ///
    /// - Complexity: O(log n).
    func first(from old: Int) -> Int {
        let index = places.partitioningIndex { $0.old >= old }
        return index < places.count ? places[index].new : tail
    }

    /// Where the operation is that was at that place; nil if there was none.
    func callAsFunction(_ old: Int) -> Int? {
        let index = places.partitioningIndex { $0.old >= old }
        guard index < places.count, places[index].old == old else { return nil }
        return places[index].new
    }
}
