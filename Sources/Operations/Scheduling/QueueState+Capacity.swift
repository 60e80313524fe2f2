// Capacity waiters; see "Capacity waiters" in Waits.md.

import OperationsRuntime

extension QueueState {
    /// Makes each operation leave right after its end from now on, so that free capacity is seen at
    /// once. This ends when the queue is empty; see ``QueueRoom/endIfUnused()``.
    mutating func beginLeavingOneByOne() {
        room.capacity.begin()
        returnAllRests()
        slots.recall()
    }

    /// Reserves capacity for a caller that has not waited. Returns false if the caller must wait;
    /// nil if the caller must first call ``beginLeavingOneByOne()`` in another hold of the lock.
    mutating func reserveCapacityAtOnce(below limit: Int) -> Bool? {
        if !room.capacity.isUsed {
            // In the claims, operations may end while this hold of the lock counts.
            guard slots.claims.isEmpty else { return nil }
            room.capacity.begin()
        }
        return room.capacity.admitAtOnce(below: limit, unfinished: operationCount)
    }

    /// Admits capacity waiters after an operation has left.
    @inline(never)
    mutating func admit(with departure: inout Departure) { departure.waiters += admittedWaiters() }

    /// Returns the capacity waiters whose reservations are made now. The caller wakes them after
    /// it has released the lock.
    mutating func admittedWaiters() -> [Waiter] { room.capacity.admit(unfinished: operationCount) }
}
