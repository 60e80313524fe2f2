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
    /// The limit that holds now.
    var setting: OperationQueueOverflow?
    /// The operations for which there is room, and which are about to be added. They count.
    var arriving: Set<ObjectIdentifier> = []
    /// The operations for which there is no room, and which are about to be added nevertheless:
    /// cancelled, so that they end as any other. They do not count.
    var rejected: Set<ObjectIdentifier> = []
    /// The operations in the queue that were cancelled for lack of room, and have not left.
    var displaced: [ObjectIdentifier: Unmanaged<Operation>] = [:]
    /// The operations in the queue that belong to one which has begun: the nodes of a graph.
    var exempt: Set<ObjectIdentifier> = []

    /// What has to be added to the queue's number of operations, to get the number that is limited.
    var correction: Int { arriving.count - displacedCount }

    /// The number of displaced operations that the queue counts among its operations: it does not
    /// count those that have finished and leave with their claim.
    private var displacedCount: Int {
        displaced.values.count { operation in
            let state = operation._withUnsafeGuaranteedRef { $0.status }
            return state.phase != .finished || !state.has(.fastPath) || state.has(.claimedAlone)
        }
    }

    /// Forgets an operation that leaves the queue.
    mutating func leaves(_ operation: Operation) {
        let id = ObjectIdentifier(operation)
        displaced[id] = nil
        exempt.remove(id)
    }
}
