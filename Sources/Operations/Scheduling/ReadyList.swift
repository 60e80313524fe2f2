/// The ready operations of one queue: a lane for each priority, and one for operations that were
/// cancelled and need no slot.
struct ReadyList: Sendable {
    enum Lane {
        case priority(Operation.QueuePriority)
        case cancelled
    }

    struct Entry: Sendable {
        let operation: Operation
        let ticket: UInt64
        /// Its turn among those of the same priority.
        let order: UInt64
    }

    private var lanes = [ReadyLane](
        repeating: ReadyLane(), count: Operation.QueuePriority.count)
    private var cancelled = ReadyLane()

    mutating func append(_ entry: Entry, to lane: Lane) {
        switch lane {
        case .priority(let priority): lanes[priority.lane].append(entry)
        case .cancelled: cancelled.append(entry)
        }
    }

    mutating func popCancelled() -> Entry? {
        cancelled.popFirst()
    }

    /// The oldest entry of the highest priority.
    mutating func popBest() -> Entry? {
        for lane in lanes.indices.reversed() {
            if let entry = lanes[lane].popFirst() { return entry }
        }
        return nil
    }

    /// Takes out the entries that no longer stand, and returns them.
    ///
    /// - Complexity: O(n log n); the queue calls it when at least half of the entries are stale.
    mutating func removeStale() -> [Entry] {
        let isStale: (Entry) -> Bool = { !$0.operation.isFiled(ticket: $0.ticket) }
        var removed = cancelled.removeAll(where: isStale)
        for lane in lanes.indices { removed += lanes[lane].removeAll(where: isStale) }
        return removed
    }

    var count: Int { lanes.reduce(cancelled.count) { $0 + $1.count } }
    var hasCancelled: Bool { !cancelled.isEmpty }
    var hasReady: Bool { lanes.contains { !$0.isEmpty } }
}

extension Operation.QueuePriority {
    static let count = 5

    /// 0 for the lowest priority, 4 for the highest.
    var lane: Int {
        switch self {
        case .veryLow: 0
        case .low: 1
        case .normal: 2
        case .high: 3
        case .veryHigh: 4
        }
    }
}
