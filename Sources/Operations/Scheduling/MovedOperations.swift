/// The operations of a queue whose priority was changed while they were in it.
///
/// They come behind those that had the priority at that moment, whatever their place in the ring: each has
/// a **turn**, the number of places that the ring had given out by then. Entries that no longer stand are
/// skipped when they come up, and swept out when they are the most.
struct MovedOperations {
    private struct Turn {
        var number: Int
        var ticket: Int
        var isReady = false
    }

    private struct Entry {
        let turn: Int
        let sequence: Int
        let ticket: Int
    }

    private var turns: [Int: Turn] = [:]
    private var lists = [[Entry]](repeating: [], count: Operation.QueuePriority.count)
    private var lastTicket = 0
    private(set) var readyCounts = [Int](repeating: 0, count: Operation.QueuePriority.count)

    var isEmpty: Bool { turns.isEmpty }

    /// Gives an operation, which is not among the ready ones here, a new turn.
    mutating func move(_ sequence: Int, turn: Int) {
        lastTicket += 1
        turns[sequence] = Turn(number: turn, ticket: lastTicket)
    }

    mutating func setReady(_ sequence: Int, lane: Int) {
        guard var turn = turns[sequence], !turn.isReady else { return }
        lastTicket += 1
        turn.isReady = true
        // A new ticket for each time it is ready, so that an older entry does not stand again.
        let entry = Entry(turn: turn.number, sequence: sequence, ticket: lastTicket)
        turn.ticket = lastTicket
        turns[sequence] = turn
        readyCounts[lane] += 1
        insert(entry, lane: lane)
    }

    /// True if it was among the ready ones.
    mutating func clearReady(_ sequence: Int, lane: Int) -> Bool {
        guard turns[sequence]?.isReady == true else { return false }
        turns[sequence]?.isReady = false
        readyCounts[lane] -= 1
        sweep(lane)
        return true
    }

    /// The operation has left the queue, and is not among the ready ones.
    mutating func forget(_ sequence: Int) { turns[sequence] = nil }

    /// The turn and place of the first of a lane, among those whose place is not beyond `limit`.
    ///
    /// - Complexity: O(log n), or O(n) if there is a limit.
    mutating func first(_ lane: Int, upTo limit: Int = .max) -> (turn: Int, sequence: Int)? {
        while let entry = lists[lane].first, !stands(entry) { removeFirst(lane) }
        guard let first = lists[lane].first else { return nil }
        if first.sequence <= limit { return (first.turn, first.sequence) }
        let eligible = lists[lane].filter { $0.sequence <= limit && stands($0) }
        return eligible.min(by: Self.isOrdered).map { ($0.turn, $0.sequence) }
    }

    private func stands(_ entry: Entry) -> Bool {
        guard let turn = turns[entry.sequence] else { return false }
        return turn.isReady && turn.ticket == entry.ticket
    }

    private mutating func sweep(_ lane: Int) {
        guard lists[lane].count > 2 * readyCounts[lane] + 64 else { return }
        let standing = lists[lane].filter { stands($0) }
        lists[lane] = []
        for entry in standing { insert(entry, lane: lane) }
    }

    // MARK: Places that change

    /// The ring has moved its operations: `places` maps old places to new ones, both rising.
    mutating func renumber(_ places: [(old: Int, new: Int)], tail: Int) {
        // A turn stands for "before all that were added later": now, before the first of those.
        let translated: (Int) -> Int = { turn in
            let index = places.partitioningIndex { $0.old >= turn }
            return index < places.count ? places[index].new : tail
        }
        let newPlaces = Dictionary(uniqueKeysWithValues: places.map { ($0.old, $0.new) })
        var moved = MovedOperations()
        moved.lastTicket = lastTicket
        moved.readyCounts = readyCounts
        for (sequence, turn) in turns {
            guard let place = newPlaces[sequence] else { continue }
            var turn = turn
            turn.number = translated(turn.number)
            moved.turns[place] = turn
        }
        for (lane, list) in lists.enumerated() {
            for entry in list where stands(entry) {
                guard let place = newPlaces[entry.sequence] else { continue }
                moved.insert(
                    Entry(turn: translated(entry.turn), sequence: place, ticket: entry.ticket),
                    lane: lane)
            }
        }
        self = moved
    }

    // MARK: A binary heap for each lane: no entry comes before its parent

    private static func isOrdered(_ a: Entry, _ b: Entry) -> Bool {
        (a.turn, a.ticket) < (b.turn, b.ticket)
    }

    private mutating func insert(_ entry: Entry, lane: Int) {
        lists[lane].append(entry)
        var child = lists[lane].count - 1
        while child > 0, Self.isOrdered(lists[lane][child], lists[lane][(child - 1) / 2]) {
            lists[lane].swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    private mutating func removeFirst(_ lane: Int) {
        lists[lane].swapAt(0, lists[lane].count - 1)
        lists[lane].removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < lists[lane].count {
                if Self.isOrdered(lists[lane][child], lists[lane][least]) { least = child }
            }
            if least == parent { return }
            lists[lane].swapAt(parent, least)
            parent = least
        }
    }
}

extension Array {
    /// The first index at which `isBehind` holds, if it holds for all from there on.
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
