import OperationsRuntime

/// The operations of a queue that do not start in the order of their places. Such an operation has
/// a deadline, or its priority was changed while the operation was in the queue, or the queue
/// counts how long its operations have been ready.
///
/// An operation whose priority was changed goes behind those that had the new priority at that
/// moment, whatever its place in the ring. The number of its ``SortKey`` is the first place that
/// the ring had not given out by then. Of several operations with the same number, the one that was
/// changed first goes first, however often it leaves the ready operations and comes back. Entries
/// that are no longer valid are skipped when they come up, and swept out when they are the
/// majority.
struct RescheduledOperations {
    private struct Standing {
        /// The key by deadline and place, which does not depend on the order of the queue.
        var turn: SortKey
        /// The priority level of an operation that is among the ready ones.
        var readyLane: Int?
        /// The time since which the operation has been ready, if the queue ages its operations.
        /// Kept while a worker has claimed the operation, because the worker may return it.
        var readySince: Int64?
        /// The number of the valid entry. An operation gets one entry each time it becomes ready.
        var entryNumber = 0
    }

    private struct Entry: Comparable {
        let key: SortKey
        let place: Int
        let lane: Int
        let number: Int

        static func < (a: Entry, b: Entry) -> Bool { a.key < b.key }
    }

    /// An entry that is ordered by its place.
    private struct HeldEntry: Comparable {
        let entry: Entry

        static func < (a: HeldEntry, b: HeldEntry) -> Bool { a.entry.place < b.entry.place }
    }

    private var standings: [Int: Standing] = [:]
    /// The entries by priority level; empty before the first entry.
    private var lanes: [Heap<Entry>] = []
    /// The entries that were met behind a barrier, until the barrier has gone.
    private var held = Heap<HeldEntry>()
    private var lastTicket = 0
    private var lastEntryNumber = 0
    private var readyCount = 0
    private var deadlines = 0

    var isEmpty: Bool { standings.isEmpty }

    /// Whether any of the operations has a deadline.
    var hasDeadlines: Bool { deadlines > 0 }

    /// Gives an operation a new number, after a change of its priority. The operation keeps its
    /// deadline and loses its age: the time since which it has been ready. The operation must not
    /// be among the ready ones here.
    mutating func startTurnAnew(at place: Int, number: Int) {
        lastTicket += 1
        let deadline = standings[place]?.turn.deadline ?? SortKey.noDeadline
        standings[place] = Standing(
            turn: SortKey(deadline: deadline, number: number, ticket: lastTicket))
    }

    /// Gives an operation a deadline. The operation keeps its number, by default its place, and its
    /// age. The operation must not be among the ready ones here.
    mutating func setDeadline(_ deadline: Int64, at place: Int) {
        var standing = standing(at: place)
        count(standing, -1)
        standing.turn.deadline = deadline
        count(standing, 1)
        standings[place] = standing
    }

    private func standing(at place: Int) -> Standing {
        // The ticket puts the operation behind all that were rescheduled to go before this place.
        standings[place] ?? Standing(turn: SortKey(number: place, ticket: .max))
    }

    private mutating func count(_ standing: Standing?, _ difference: Int) {
        if let standing, standing.turn.deadline != SortKey.noDeadline { deadlines += difference }
    }

    /// Forgets an operation that has left the queue and is not among the ready ones.
    @inline(never)
    mutating func forget(_ place: Int) { count(standings.removeValue(forKey: place), -1) }

    // MARK: Ready operations

    func isReady(_ place: Int) -> Bool { standings[place]?.readyLane != nil }

    /// Returns the time that was last given to ``setReady(_:lane:since:in:)`` for an operation that
    /// is ready or claimed.
    func readySince(_ place: Int) -> Int64? { standings[place]?.readySince }

    /// Puts an operation among the ready ones.
    ///
    /// - Parameters:
    ///   - time: the time since which the operation has been ready; nil in an order without ageing.
    ///   - order: the order of the queue, in which all ready operations here were put.
    /// - Complexity: O(log n).
    mutating func setReady(
        _ place: Int, lane: Int, since time: Int64? = nil, in order: ReadyOrder
    ) {
        var standing = standing(at: place)
        guard standing.readyLane == nil else { return }
        lastEntryNumber += 1
        standing.entryNumber = lastEntryNumber
        standing.readyLane = lane
        standing.readySince = time
        standings[place] = standing
        readyCount += 1
        insert(standing, place: place, lane: lane, in: order)
    }

    private mutating func insert(
        _ standing: Standing, place: Int, lane: Int, in order: ReadyOrder
    ) {
        if lanes.isEmpty { lanes = .init(repeating: Heap(), count: PriorityLanes.count) }
        let key = order.sortKey(
            standing.turn, place: place, lane: lane, readySince: standing.readySince)
        lanes[lane].insert(
            Entry(key: key, place: place, lane: lane, number: standing.entryNumber))
    }

    /// Removes an operation from the ready ones. Returns whether it was among them.
    mutating func clearReady(_ place: Int) -> Bool {
        guard let lane = standings[place]?.readyLane else { return false }
        standings[place]?.readyLane = nil
        readyCount -= 1
        if lanes[lane].count > 2 * readyCount + 64 {
            lanes[lane] = lanes[lane].swept { stands($0) }
        }
        if held.count > 2 * readyCount + 64 { held = held.swept { stands($0.entry) } }
        return true
    }

    /// Returns the sort key and place of the first operation of a lane. Operations with places
    /// beyond `limit` do not count.
    ///
    /// - Parameter limit: never lower than before, unless all operations that were added since are
    ///   beyond it.
    /// - Complexity: O(log n), amortised over all ready operations.
    @inline(never)
    mutating func first(_ lane: Int, upTo limit: Int = .max) -> (key: SortKey, place: Int)? {
        guard !lanes.isEmpty else { return nil }
        while let first = held.first, first.entry.place <= limit {
            let entry = held.removeFirst().entry
            lanes[entry.lane].insert(entry)
        }
        while let entry = lanes[lane].first {
            if stands(entry), entry.place <= limit { return (entry.key, entry.place) }
            _ = lanes[lane].removeFirst()
            if stands(entry) { held.insert(HeldEntry(entry: entry)) }
        }
        return nil
    }

    /// Returns the place and lane of the operation that goes first of all lanes by its key.
    ///
    /// - Parameter limit: never lower than before, unless all operations that were added since are
    ///   beyond it.
    /// - Complexity: O(log n), amortised over all ready operations.
    mutating func first(upTo limit: Int = .max) -> (place: Int, lane: Int)? {
        var best: (key: SortKey, place: Int, lane: Int)?
        for lane in lanes.indices {
            guard let first = first(lane, upTo: limit) else { continue }
            if let best, best.key < first.key { continue }
            best = (first.key, first.place, lane)
        }
        return best.map { ($0.place, $0.lane) }
    }

    private func stands(_ entry: Entry) -> Bool {
        guard let standing = standings[entry.place] else { return false }
        return standing.readyLane != nil && standing.entryNumber == entry.number
    }

    // MARK: Places that change

    /// Updates the places after the ring has moved its operations.
    ///
    /// - Parameter order: the order of the queue, in which all ready operations here were put.
    mutating func renumber(_ places: Renumbering, in order: ReadyOrder) {
        let old = standings
        (standings, lanes, held, deadlines) = ([:], [], Heap(), 0)
        for (place, var standing) in old {
            guard let place = places(place) else { continue }
            standing.turn.number = places.first(from: standing.turn.number)
            standings[place] = standing
            count(standing, 1)
            guard let lane = standing.readyLane else { continue }
            insert(standing, place: place, lane: lane, in: order)
        }
    }
}
