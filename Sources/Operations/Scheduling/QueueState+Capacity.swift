// Capacity waiters; see "Capacity waiters" in Waits.md.

import OperationsRuntime

extension QueueState {
    /// Makes each operation leave right after its end from now on, so that free capacity is seen at
    /// once. The queue is empty again before this ends; see ``endCapacityIfUnused()``.
    mutating func beginLeavingOneByOne() {
        capacityQueue.begin()
        returnAllRests()
        recallClaims()
    }

    /// Ends what ``beginLeavingOneByOne()`` has begun, if the queue is empty and nobody has
    /// anything to do with its capacity.
    @inline(never)
    mutating func endCapacityIfUnused() {
        if isEmpty { capacityQueue.end() }
    }

    /// Reserves capacity for a caller that has not waited. Returns false if the caller must wait;
    /// nil if the caller must first call ``beginLeavingOneByOne()`` in another hold of the lock.
    mutating func reserveCapacityAtOnce(below limit: Int) -> Bool? {
        if !capacityQueue.isUsed {
            // In the claims, operations may end while this hold of the lock counts.
            guard claims.isEmpty else { return nil }
            capacityQueue.begin()
        }
        return capacityQueue.admitAtOnce(below: limit, unfinished: operationCount)
    }

    /// Admits capacity waiters after an operation has left.
    @inline(never)
    mutating func admit(with departure: inout Departure) { departure.waiters += admittedWaiters() }

    /// Returns the capacity waiters whose reservations are made now. The caller wakes them after
    /// it has released the lock.
    mutating func admittedWaiters() -> [Waiter] { capacityQueue.admit(unfinished: operationCount) }
}
