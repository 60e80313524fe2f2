/// What a queue does with operations beyond a number of them; see ``OperationQueue/overflow``.
public struct OperationQueueOverflow: Sendable, Hashable {
    /// How many operations, waiting or running, the queue may hold.
    public let capacity: Int
    let dropsOldest: Bool

    private init(capacity: Int, dropsOldest: Bool) {
        if capacity < 1 {
            misuse("a queue cannot be limited to \(capacity) operations: use 1 or more")
        }
        (self.capacity, self.dropsOldest) = (capacity, dropsOldest)
    }

    /// An operation that is added to a full queue displaces the one that has waited there longest.
    ///
    /// For work of which the latest matters: frames of a camera, positions on a map.
    ///
    /// - Precondition: the capacity is 1 or more.
    public static func dropOldest(capacity: Int) -> OperationQueueOverflow {
        OperationQueueOverflow(capacity: capacity, dropsOldest: true)
    }

    /// An operation that is added to a full queue is itself cancelled.
    ///
    /// For requests that are better refused than answered late. A caller that wants to know learns
    /// it at once from ``OperationQueue/tryAdd(_:capacity:body:file:line:)``.
    ///
    /// - Precondition: the capacity is 1 or more.
    public static func dropNewest(capacity: Int) -> OperationQueueOverflow {
        OperationQueueOverflow(capacity: capacity, dropsOldest: false)
    }
}

/// The overflow of a queue, guarded by the queue's lock.
struct OverflowState {
    /// The limit that holds now.
    var setting: OperationQueueOverflow?
    /// The operations for which there is room, and which are about to be added. They count.
    var arriving: Set<ObjectIdentifier> = []
    /// The operations for which there is no room, and which are about to be added nevertheless:
    /// cancelled, so that they end as any other. They do not count.
    var rejected: Set<ObjectIdentifier> = []
    /// The operations in the queue that were cancelled for lack of room, or are about to be, and
    /// have not left. They do not count.
    var displaced: Set<ObjectIdentifier> = []
    /// How many were chosen to be displaced, and may have begun meanwhile. They count.
    var undecidedCount = 0
    /// The operations in the queue that belong to one which has begun: the nodes of a graph.
    var exempt: Set<ObjectIdentifier> = []
    /// All operations before this place have begun, were displaced, or are never displaced.
    var firstPlace = 0
    /// How many places were looked at for an operation to displace.
    var visitedCount = 0

    /// How many threads are about to set a limit, and keep operations from being dropped before.
    var settingCount = 0

    /// Whether there is a limit, or is about to be one, or an operation is about to be added for
    /// which one counted.
    var isUsed: Bool {
        setting != nil || settingCount > 0 || undecidedCount > 0 || !arriving.isEmpty
            || !rejected.isEmpty
    }

    /// Forgets an operation that leaves the queue.
    mutating func leaves(_ operation: Operation) {
        let id = ObjectIdentifier(operation)
        displaced.remove(id)
        exempt.remove(id)
    }
}
