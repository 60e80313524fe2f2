import OperationsRuntime

/// The operations of a queue that do not start in the order of their places. Such an operation has
/// a deadline, or its priority was changed while the operation was in the queue, or the queue
/// counts how long its operations have been ready, or has groups of operations.
///
/// An operation whose priority was changed goes behind those that had the new priority at that
/// moment, whatever its place in the ring. The number of its ``SortKey`` is the first place that
/// the ring had not given out by then. Of several operations with the same number, the one that was
/// changed first goes first, however often it leaves the ready operations and comes back.
struct RescheduledOperations {
    private struct Standing {
        /// The key by deadline and place, which does not depend on the order of the queue.
        var turn: SortKey
        var share = Share()
        /// Whether the group has had its turn for this operation, which may have come back since.
        var hasTurn = false
        /// Where the operation is, if it is among the ready ones.
        var entry: Entry?
        /// The time since which the operation has been ready, if the queue ages its operations.
        /// Kept while a worker has claimed the operation, because the worker may return it.
        var readySince: Int64?
    }

    private enum Entry {
        case ready(lane: Int, Heap<SortKey, Int>.Ticket)
        case shared(lane: Int, Heap<SortKey, Int>.Ticket)
        case held(lane: Int, Heap<Int, SortKey>.Ticket)
    }

    private var standings: [Int: Standing] = [:]
    /// The places of ready operations by priority level; empty before the first.
    private var lanes: [Heap<SortKey, Int>] = []
    /// The same where groups take turns; empty otherwise.
    private var fairLanes: [FairLane] = []
    /// The keys of ready operations that were met behind a barrier, by place, until the barrier has
    /// gone.
    private var held = Heap<Int, SortKey>()
    private var lastTicket = 0
    private var deadlines = 0

    var isEmpty: Bool { standings.isEmpty }

    /// The places of the operations, in their order.
    var places: [Int] { standings.keys.sorted() }

    /// Whether any of the operations has a deadline.
    var hasDeadlines: Bool { deadlines > 0 }

    /// Gives an operation a new number, after a change of its priority. The operation keeps its
    /// deadline and loses its age: the time since which it has been ready. The operation must not
    /// be among the ready ones here.
    mutating func startTurnAnew(at place: Int, number: Int) {
        lastTicket += 1
        let old = standings[place]
        let deadline = old?.turn.deadline ?? SortKey.noDeadline
        standings[place] = Standing(
            turn: SortKey(deadline: deadline, number: number, ticket: lastTicket),
            share: old?.share ?? Share())
    }

    /// Gives an operation a group. The operation must not be among the ready ones here.
    mutating func setShare(_ share: Share, at place: Int) {
        var standing = standing(at: place)
        standing.share = share
        standings[place] = standing
    }

    /// The group of an operation.
    func share(_ place: Int) -> Share? { standings[place]?.share }

    /// Begins or ends to let groups take turns. No operation is among the ready ones here.
    mutating func shareFairly(_ areShared: Bool) {
        if areShared == !fairLanes.isEmpty { return }
        fairLanes = areShared ? .init(repeating: FairLane(), count: PriorityLanes.count) : []
    }

    /// The number of groups of a priority with ready operations.
    func waitingGroupCount(_ lane: Int) -> Int {
        fairLanes.isEmpty ? 0 : fairLanes[lane].waitingCount
    }

    /// The number of groups that are known, of all priorities.
    var groupCount: Int { fairLanes.reduce(0) { $0 + $1.groupCount } }

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

    func isReady(_ place: Int) -> Bool { standings[place]?.entry != nil }

    /// Returns the time that was last given to ``setReady(_:lane:since:in:)`` for an operation that
    /// is ready or claimed.
    func readySince(_ place: Int) -> Int64? { standings[place]?.readySince }

    /// Puts an operation among the ready ones.
    ///
    /// - Parameters:
    ///   - time: the time since which the operation has been ready; nil in an order without aging.
    ///   - order: the order of the queue, in which all ready operations here were put.
    /// - Complexity: O(log n).
    mutating func setReady(
        _ place: Int, lane: Int, since time: Int64? = nil, in order: ReadyOrder
    ) {
        var standing = standing(at: place)
        guard standing.entry == nil else { return }
        standing.readySince = time
        insert(&standing, place: place, lane: lane, in: order)
        standings[place] = standing
    }

    private mutating func insert(
        _ standing: inout Standing, place: Int, lane: Int, in order: ReadyOrder
    ) {
        let key = order.sortKey(
            standing.turn, place: place, lane: lane, readySince: standing.readySince)
        standing.entry = entry(place, key, lane: lane, of: standing.share.group)
    }

    private mutating func entry(
        _ place: Int, _ key: SortKey, lane: Int, of group: ShareGroup
    ) -> Entry {
        if !fairLanes.isEmpty {
            return .shared(lane: lane, fairLanes[lane].insert(place, at: key, of: group))
        }
        if lanes.isEmpty { lanes = .init(repeating: Heap(), count: PriorityLanes.count) }
        return .ready(lane: lane, lanes[lane].insert(place, at: key))
    }

    /// Removes an operation from the ready ones. Returns whether it was among them.
    ///
    /// - Complexity: O(log n).
    mutating func clearReady(_ place: Int) -> Bool {
        switch standings[place]?.entry {
        case nil: return false
        case .ready(let lane, let ticket): lanes[lane].remove(ticket)
        case .shared(let lane, let ticket):
            if let share = share(place) { fairLanes[lane].remove(ticket, of: share.group) }
        case .held(_, let ticket): held.remove(ticket)
        }
        standings[place]?.entry = nil
        return true
    }

    /// Records that the group of a ready operation has its turn, because the operation starts.
    mutating func starts(_ place: Int) {
        guard let standing = standings[place], !standing.hasTurn,
            case .shared(let lane, _) = standing.entry
        else { return }
        standings[place]?.hasTurn = true
        fairLanes[lane].starts(standing.share)
    }

    /// Returns the sort key and place of the first operation of a lane. Operations with places
    /// beyond `limit` do not count.
    ///
    /// - Parameter limit: never lower than before, unless all operations that were added since are
    ///   beyond it.
    /// - Complexity: O(log n), amortised over all ready operations.
    @inline(never)
    mutating func first(_ lane: Int, upTo limit: Int = .max) -> (key: SortKey, place: Int)? {
        guard !lanes.isEmpty || !fairLanes.isEmpty else { return nil }
        while let place = held.firstKey, let key = held.removeFirst(upTo: limit) {
            guard let standing = standings[place], case .held(let lane, _) = standing.entry else {
                continue
            }
            let entry = entry(place, key, lane: lane, of: standing.share.group)
            standings[place]?.entry = entry
        }
        if !fairLanes.isEmpty { return firstFairly(lane, upTo: limit) }
        while let key = lanes[lane].firstKey, let place = lanes[lane].first {
            if place <= limit { return (key, place) }
            _ = lanes[lane].removeFirst(upTo: key)
            standings[place]?.entry = .held(lane: lane, held.insert(key, at: place))
        }
        return nil
    }

    private mutating func firstFairly(
        _ lane: Int, upTo limit: Int
    ) -> (key: SortKey, place: Int)? {
        while let (key, place) = fairLanes[lane].first {
            if place <= limit { return (key, place) }
            _ = clearReady(place)
            standings[place]?.entry = .held(lane: lane, held.insert(key, at: place))
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
        for lane in 0..<PriorityLanes.count {
            guard let first = first(lane, upTo: limit) else { continue }
            if let best, best.key < first.key { continue }
            best = (first.key, first.place, lane)
        }
        return best.map { ($0.place, $0.lane) }
    }

    // MARK: Places that change

    /// Updates the places after the ring has moved its operations.
    ///
    /// - Parameter order: the order of the queue, in which all ready operations here were put.
    mutating func renumber(_ places: Renumbering, in order: ReadyOrder) {
        let old = standings
        for lane in fairLanes.indices { fairLanes[lane].removeAll() }
        (standings, lanes, held, deadlines) = ([:], [], Heap(), 0)
        for (place, var standing) in old {
            guard let place = places(place) else { continue }
            standing.turn.number = places.first(from: standing.turn.number)
            count(standing, 1)
            switch standing.entry {
            case nil: break
            case .ready(let lane, _), .shared(let lane, _), .held(let lane, _):
                insert(&standing, place: place, lane: lane, in: order)
            }
            standings[place] = standing
        }
    }
}
