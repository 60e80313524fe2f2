/// The ready operations of a queue that counts how long they have been ready.
///
/// Each operation counts one priority higher for each span that it has been ready. No count is
/// updated as time goes by. The counts are worked out when the best operation is looked for, in a
/// few steps for each priority.
struct AgeingOperations {
    private struct Position {
        let lane: Int
        var index: Int
        let ticket: Int
    }

    /// An operation behind a barrier.
    private struct Held: Comparable {
        let place: Int
        let ticket: Int

        static func < (a: Held, b: Held) -> Bool { a.place < b.place }
    }

    private var lanes = [AgeingLane](
        repeating: AgeingLane(), count: Operation.QueuePriority.count)
    private var positions: [Int: Position] = [:]
    private var held = Heap<Held>()
    private var lastTicket = 0
    private var latest = Int64.min
    /// The span in nanoseconds, limited so that several spans can be added to a time.
    private let span: Int64

    init(span: Int64) { self.span = max(1, min(span, .max / 64)) }

    /// Inserts an operation that has become ready.
    ///
    /// - Parameters:
    ///   - time: the time since which the operation has been ready. A time before that of the last
    ///     insertion counts as that one.
    ///   - limit: the last place that is not behind a barrier.
    /// - Complexity: O(log n).
    mutating func insert(_ place: Int, lane: Int, turn: SortKey, time: Int64, limit: Int) {
        lastTicket += 1
        latest = max(latest, time)
        if lanes[lane].isFull { makeRoom(in: lane) }
        let entry = AgeingLane.Entry(place: place, turn: turn, isHeld: place > limit)
        let index = lanes[lane].append(entry, time: latest)
        positions[place] = Position(lane: lane, index: index, ticket: lastTicket)
        if entry.isHeld { held.insert(Held(place: place, ticket: lastTicket)) }
    }

    private mutating func makeRoom(in lane: Int) {
        lanes[lane].makeRoom()
        var index = 0
        lanes[lane].forEach { entry, _ in
            positions[entry.place]?.index = index
            index += 1
        }
    }

    /// Removes an operation and returns the time since which it was ready; nil if the operation is
    /// not here.
    ///
    /// - Complexity: O(log n).
    mutating func remove(_ place: Int) -> Int64? {
        guard let position = positions.removeValue(forKey: place) else { return nil }
        let time = lanes[position.lane].time(at: position.index)
        lanes[position.lane].remove(position.index)
        if held.count > 2 * positions.count + 64 {
            held = held.swept { positions[$0.place]?.ticket == $0.ticket }
        }
        return time
    }

    func contains(_ place: Int) -> Bool { positions[place] != nil }

    mutating func setDeadline(_ deadline: Int64, at place: Int) {
        guard let position = positions[place] else { return }
        lanes[position.lane].change(position.index) { $0.turn.deadline = deadline }
    }

    /// Returns the place and lane of the operation to start next. Operations with places beyond
    /// `limit` do not count.
    ///
    /// - Complexity: O(log n).
    mutating func best(now: Int64, upTo limit: Int) -> (place: Int, lane: Int)? {
        release(upTo: limit)
        let now = max(now, latest)
        var level = Int.min
        for (lane, log) in lanes.enumerated() {
            if let oldest = log.oldest { level = max(level, lane + Int((now - oldest) / span)) }
        }
        guard level != .min else { return nil }
        var best: (entry: AgeingLane.Entry, lane: Int)?
        for lane in lanes.indices.reversed() where lanes[lane].count > 0 && lane <= level {
            let (age, isTooOld) = span.multipliedReportingOverflow(by: Int64(level - lane))
            let (time, isBeforeAll) = now.subtractingReportingOverflow(age)
            guard !isTooOld, !isBeforeAll, let first = lanes[lane].first(notAfter: time)
            else { continue }
            if let best, best.entry.turn < first.turn { continue }
            best = (first, lane)
        }
        return best.map { ($0.entry.place, $0.lane) }
    }

    /// Makes operations eligible that a barrier, which has gone, held back.
    private mutating func release(upTo limit: Int) {
        while let first = held.first, first.place <= limit {
            _ = held.removeFirst()
            guard let position = positions[first.place], position.ticket == first.ticket else {
                continue
            }
            lanes[position.lane].change(position.index) { $0.isHeld = false }
        }
    }

    /// All operations and the times since which they have been ready, the earliest first.
    var all: [(place: Int, time: Int64)] {
        var all: [(place: Int, time: Int64)] = []
        for lane in lanes { lane.forEach { all.append(($0.place, $1)) } }
        return all.sorted { $0.time < $1.time }
    }

    /// Updates the places after the ring has moved its operations.
    mutating func renumber(_ places: Renumbering, isReversed: Bool) {
        var renumbered = AgeingOperations(span: span)
        for (lane, log) in lanes.enumerated() {
            renumbered.latest = .min
            log.forEach { entry, time in
                guard let place = places(entry.place) else { return }
                var turn = entry.turn
                turn.number = isReversed ? -place : places.first(from: turn.number)
                renumbered.insert(
                    place, lane: lane, turn: turn, time: time,
                    limit: entry.isHeld ? Int.min : Int.max)
            }
        }
        renumbered.latest = latest
        self = renumbered
    }
}
