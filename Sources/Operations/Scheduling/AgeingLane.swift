/// The ready operations of one priority in the order in which they became ready.
///
/// The lane is a log under a tree. Each node of the tree says which of the positions below it has
/// the least turn. So the lane finds which operation goes first among any number of the oldest
/// ones.
struct AgeingLane {
    struct Entry {
        let place: Int
        var turn: SortKey
        /// Whether the operation is behind a barrier. It then keeps its position, but cannot be the
        /// first.
        var isHeld: Bool
    }

    private static let smallest = 64
    private static let nobody: Int32 = -1

    /// The times of all positions that were given out; they never fall.
    private var times: [Int64] = []
    private var entries: [Entry?] = []
    /// The tree. The leaf of a position is at `capacity + position`; the node above an index is at
    /// half of that index, up to the root at 1.
    private var winners = [Int32](repeating: nobody, count: 2 * smallest)
    private var capacity = smallest
    private(set) var count = 0

    var isFull: Bool { entries.count == capacity }

    func time(at position: Int) -> Int64 { times[position] }

    /// Gives an operation the next position. There must be a free position (``isFull``).
    ///
    /// - Parameter time: a time not before that of the last operation.
    /// - Complexity: O(log n).
    mutating func append(_ entry: Entry, time: Int64) -> Int {
        let position = entries.count
        entries.append(entry)
        times.append(time)
        count += 1
        if !entry.isHeld { update(position) }
        return position
    }

    /// Removes the operation at a position.
    ///
    /// - Complexity: O(log n).
    mutating func remove(_ position: Int) {
        entries[position] = nil
        count -= 1
        if count == 0 { self = AgeingLane() } else { update(position) }
    }

    /// Changes the entry at a position.
    ///
    /// - Complexity: O(log n).
    mutating func change(_ position: Int, _ body: (inout Entry) -> Void) {
        guard var entry = entries[position] else { return }
        body(&entry)
        entries[position] = entry
        update(position)
    }

    /// Calls `body` with each entry and its time, in the order of the positions.
    func forEach(_ body: (Entry, Int64) -> Void) {
        for (entry, time) in zip(entries, times) {
            if let entry { body(entry, time) }
        }
    }

    /// Moves the operations together, and doubles the capacity if needed. The operations get new
    /// positions from 0.
    ///
    /// - Complexity: O(capacity), amortised over as many additions.
    mutating func makeRoom() {
        var roomier = AgeingLane()
        roomier.capacity = count * 2 <= capacity ? capacity : 2 * capacity
        roomier.winners = [Int32](repeating: Self.nobody, count: 2 * roomier.capacity)
        forEach { entry, time in _ = roomier.append(entry, time: time) }
        self = roomier
    }

    // MARK: The first operation

    /// The time since which the oldest operation that is not held has been ready.
    ///
    /// - Complexity: O(log n).
    var oldest: Int64? {
        guard winners[1] != Self.nobody else { return nil }
        var node = 1
        while node < capacity {
            node = winners[2 * node] != Self.nobody ? 2 * node : 2 * node + 1
        }
        return times[node - capacity]
    }

    /// Returns the operation that goes first among those that became ready at `time` or before.
    ///
    /// - Complexity: O(log n).
    func first(notAfter time: Int64) -> Entry? {
        var best = Self.nobody
        var low = capacity
        var high = capacity + times.partitioningIndex { $0 > time }
        while low < high {
            if low & 1 == 1 {
                best = better(best, winners[low])
                low += 1
            }
            if high & 1 == 1 {
                high -= 1
                best = better(best, winners[high])
            }
            low >>= 1
            high >>= 1
        }
        return best == Self.nobody ? nil : entries[Int(best)]
    }

    private func better(_ a: Int32, _ b: Int32) -> Int32 {
        guard a != Self.nobody, let first = entries[Int(a)] else { return b }
        guard b != Self.nobody, let second = entries[Int(b)] else { return a }
        return first.turn < second.turn ? a : b
    }

    private mutating func update(_ position: Int) {
        let isIn = entries[position].map { !$0.isHeld } ?? false
        var node = capacity + position
        winners[node] = isIn ? Int32(position) : Self.nobody
        while node > 1 {
            node /= 2
            let winner = better(winners[2 * node], winners[2 * node + 1])
            // Another position wins at this node, as it did before, so nothing changes above.
            if winner == winners[node], winner != Int32(position) { return }
            winners[node] = winner
        }
    }
}
