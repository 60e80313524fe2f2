import OperationsRuntime

/// What limits the number of a queue's operations. See Doors.md.
///
/// A queue has a room only while something needs it, and drops it in the hold of the lock in which
/// the queue is empty and the room not in use. The queue calls the methods under its lock. They
/// call no user code, and change only the room and the queue's state.
///
/// Unchecked: the queue's lock guards all state.
class QueueRoom: @unchecked Sendable {
    /// Whether each operation leaves right after its end: a claim has no further one.
    final var leavesOneByOne = false
    /// The largest claim. Claims keep what has ended.
    final var mostInClaim = Int.max
    /// Whether each block gets its operation when it is added.
    final var makesOperations = false

    /// An operation is in the queue.
    ///
    /// - Parameter isPart: whether it belongs to an operation that has begun.
    func arrived(_ operation: Operation, isPart: Bool, in state: inout QueueState) {}

    /// An operation is about to leave.
    func leaves(_ operation: Operation) {}

    /// Entries have left. Returns the waiters that have room now.
    ///
    /// - Parameter unfinished: the number of unfinished operations.
    func admitted(unfinished: Int) -> [Waiter] { [] }

    /// The queue is empty: ends what nobody uses. Returns whether anything is still in use.
    func endUnused() -> Bool { true }
}

extension QueueState {
    /// Drops the room if the queue is empty and nobody uses it any more.
    mutating func dropRoomIfUnused() {
        if isEmpty, let room, !room.endUnused() { self.room = nil }
    }

    @inline(never)
    mutating func admit(with departure: inout Departure) {
        guard let room else { return }
        departure.waiters += room.admitted(unfinished: operationCount)
        if departure.isEmpty { dropRoomIfUnused() }
    }
}
