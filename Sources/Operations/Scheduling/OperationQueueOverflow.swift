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
    /// it at once from ``OperationQueue/tryAdd(_:capacity:body:)-3umnw``.
    ///
    /// - Precondition: the capacity is 1 or more.
    public static func dropNewest(capacity: Int) -> OperationQueueOverflow {
        OperationQueueOverflow(capacity: capacity, dropsOldest: false)
    }
}

/// The overflow of a queue, guarded by the queue's lock.
struct OverflowState {
    var setting: OperationQueueOverflow?
    /// The operations for which there is room, and which are about to be added.
    var arriving: Set<ObjectIdentifier> = []
    /// The operations that were cancelled to make room, and have not left.
    var displaced: Set<ObjectIdentifier> = []
}
