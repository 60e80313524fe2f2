// Capacity waiters; see "Capacity waiters" in Waits.md.

import OperationsRuntime

extension QueueState {
    /// The queue's ``Room``; nil if nothing limits the queue.
    var limits: Room? { room.map { unsafeDowncast($0, to: Room.self) } }

    /// Returns the queue's ``Room``, and makes it if there is none.
    mutating func limitsInUse() -> Room {
        if let limits { return limits }
        let new = Room()
        room = new
        return new
    }

    /// Makes each operation leave right after its end from now on, so that free capacity is seen at
    /// once. This ends when the queue is empty; see ``Room/endUnused()``.
    mutating func beginLeavingOneByOne() {
        limitsInUse().leavesOneByOne = true
        returnAllRests()
        slots.recall()
    }

    /// Reserves capacity for a caller that has not waited. Returns false if the caller must wait;
    /// nil if the caller must first call ``beginLeavingOneByOne()`` in another hold of the lock.
    mutating func reserveCapacityAtOnce(below limit: Int) -> Bool? {
        let limits = limitsInUse()
        if !limits.leavesOneByOne {
            // In the claims, operations may end while this hold of the lock counts.
            guard slots.claims.isEmpty else { return nil }
            limits.leavesOneByOne = true
        }
        return limits.capacity.admitAtOnce(below: limit, unfinished: operationCount)
    }

    /// Removes a capacity waiter that gives up. Returns its continuation, if it was in line, and
    /// the waiters that may be admitted now: those behind it may allow more operations.
    mutating func capacityWaiterLeft(
        _ ticket: Int
    ) -> (continuation: CapacityQueue.Continuation?, admitted: [Waiter]) {
        let continuation = limits?.capacity.remove(ticket)
        return (continuation, admittedWaiters())
    }

    /// Returns a reservation. Returns the waiters that are admitted now.
    mutating func reservationReleased() -> [Waiter] {
        limits?.capacity.reservationReleased()
        return admittedWaiters()
    }

    private mutating func admittedWaiters() -> [Waiter] {
        dropRoomIfUnused()
        return limits?.admitted(unfinished: operationCount) ?? []
    }
}
