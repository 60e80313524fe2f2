/// The operations of a queue that do not start in the order of their places. Such an operation has
/// a deadline, or its priority was changed while the operation was in the queue.
///
/// An operation whose priority was changed goes behind those that had the new priority at that
/// moment, whatever its place in the ring. The number of its ``SortKey`` is the first place that
/// the ring had not given out by then. Of several operations with the same number, the one that was
/// changed first goes first, however often it leaves the ready operations and comes back. Entries
/// that are no longer valid are skipped when they come up, and swept out when they are the
/// majority.
struct RescheduledOperations {
    private struct Standing {
        var turn: SortKey
        var isReady = false
        /// The number of the valid entry. An operation gets one entry each time it becomes ready.
        var entryNumber = 0
    }

    private struct Entry: Comparable {
        let turn: SortKey
        let place: Int
        let lane: Int
        let number: Int

        static func < (a: Entry, b: Entry) -> Bool { a.turn < b.turn }
    }

    /// An entry that is ordered by its place.
    private struct HeldEntry: Comparable {
        let entry: Entry

        static func < (a: HeldEntry, b: HeldEntry) -> Bool { a.entry.place < b.entry.place }
    }

    private var standings: [Int: Standing] = [:]
    private var lanes = [Heap<Entry>](
        repeating: Heap(), count: Operation.QueuePriority.count)
    /// The entries that were met behind a barrier, until the barrier has gone.
    private var held = Heap<HeldEntry>()
    private var lastTicket = 0
    private var lastEntryNumber = 0
    private var readyCount = 0
    private var deadlines = 0
    /// Whether the order is last in, first out.
    private let isReversed: Bool

    init(isReversed: Bool = false) { self.isReversed = isReversed }

    var isEmpty: Bool { standings.isEmpty }

    /// Whether any of the operations has a deadline.
    var hasDeadlines: Bool { deadlines > 0 }

    /// Returns the sort key of an operation, ready or not; nil if the operation goes by its place.
    func turn(of place: Int) -> SortKey? { standings[place]?.turn }

    /// Gives an operation a new number and keeps its deadline. The operation must not be among the
    /// ready ones here.
    mutating func move(_ place: Int, number: Int) {
        lastTicket += 1
        let deadline = standings[place]?.turn.deadline ?? SortKey.noDeadline
        standings[place] = Standing(
            turn: SortKey(deadline: deadline, number: number, ticket: lastTicket))
    }

    /// Gives an operation a deadline and keeps its number, by default its place. The operation must
    /// not be among the ready ones here.
    mutating func setDeadline(_ deadline: Int64, at place: Int) {
        if standings[place] == nil {
            // The ticket puts the operation behind all that were rescheduled to go before this
            // place.
            standings[place] = Standing(turn: SortKey(number: place, ticket: .max))
        }
        count(standings[place], -1)
        standings[place]?.turn.deadline = deadline
        count(standings[place], 1)
    }

    private mutating func count(_ standing: Standing?, _ difference: Int) {
        if let standing, standing.turn.deadline != SortKey.noDeadline { deadlines += difference }
    }

    func isReady(_ place: Int) -> Bool { standings[place]?.isReady == true }

    mutating func setReady(_ place: Int, lane: Int) {
        guard var standing = standings[place], !standing.isReady else { return }
        lastEntryNumber += 1
        standing.entryNumber = lastEntryNumber
        standing.isReady = true
        standings[place] = standing
        readyCount += 1
        lanes[lane].insert(entry(standing, place: place, lane: lane))
    }

    private func entry(_ standing: Standing, place: Int, lane: Int) -> Entry {
        var turn = standing.turn
        if isReversed { turn.number = -place }
        return Entry(turn: turn, place: place, lane: lane, number: standing.entryNumber)
    }

    /// Removes an operation from the ready ones. Returns whether it was among them.
    mutating func clearReady(_ place: Int, lane: Int) -> Bool {
        guard standings[place]?.isReady == true else { return false }
        standings[place]?.isReady = false
        readyCount -= 1
        if lanes[lane].count > 2 * readyCount + 64 {
            lanes[lane] = lanes[lane].swept { stands($0) }
        }
        if held.count > 2 * readyCount + 64 { held = held.swept { stands($0.entry) } }
        return true
    }

    /// Forgets an operation that has left the queue and is not among the ready ones.
    @inline(never)
    mutating func forget(_ place: Int) { count(standings.removeValue(forKey: place), -1) }

    /// Returns the sort key and place of the first operation of a lane. Operations with places
    /// beyond `limit` do not count.
    ///
    /// - Parameter limit: never lower than before, unless all operations that were added since are
    ///   beyond it.
    /// - Complexity: O(log n), amortised over all ready operations.
    @inline(never)
    mutating func first(_ lane: Int, upTo limit: Int = .max) -> (turn: SortKey, place: Int)? {
        while let first = held.first, first.entry.place <= limit {
            let entry = held.removeFirst().entry
            lanes[entry.lane].insert(entry)
        }
        while let entry = lanes[lane].first {
            if stands(entry), entry.place <= limit { return (entry.turn, entry.place) }
            _ = lanes[lane].removeFirst()
            if stands(entry) { held.insert(HeldEntry(entry: entry)) }
        }
        return nil
    }

    private func stands(_ entry: Entry) -> Bool {
        guard let standing = standings[entry.place] else { return false }
        return standing.isReady && standing.entryNumber == entry.number
    }

    // MARK: Places that change

    /// Updates the places after the ring has moved its operations.
    mutating func renumber(_ places: Renumbering) { rebuild(isReversed: isReversed, places) }

    /// Returns the same operations in another order.
    func ordered(isReversed: Bool) -> RescheduledOperations {
        var rescheduled = self
        rescheduled.rebuild(isReversed: isReversed, nil)
        return rescheduled
    }

    private mutating func rebuild(isReversed: Bool, _ places: Renumbering?) {
        var rescheduled = RescheduledOperations(isReversed: isReversed)
        rescheduled.lastTicket = lastTicket
        rescheduled.lastEntryNumber = lastEntryNumber
        rescheduled.readyCount = readyCount
        for (place, standing) in standings {
            guard let place = places.map({ $0(place) }) ?? place else { continue }
            var standing = standing
            if let places { standing.turn.number = places.first(from: standing.turn.number) }
            rescheduled.standings[place] = standing
            rescheduled.count(standing, 1)
        }
        for entry in lanes.flatMap(\.elements) + held.elements.map(\.entry) where stands(entry) {
            guard let place = places.map({ $0(entry.place) }) ?? entry.place,
                let standing = rescheduled.standings[place]
            else { continue }
            rescheduled.lanes[entry.lane].insert(
                rescheduled.entry(standing, place: place, lane: entry.lane))
        }
        self = rescheduled
    }
}

extension Array {
    /// Returns the first index at which `isBehind` holds, or `count`. If `isBehind` holds for an
    /// element, it must hold for all elements behind it.
    ///
    /// - Complexity: O(log n).
    func partitioningIndex(where isBehind: (Element) -> Bool) -> Int {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if isBehind(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
