// Capacity waiters; see "Capacity waiters" in Waits.md.

import OperationsRuntime

extension QueueState {
    /// Makes each operation leave right after its end from now on, so that free capacity is seen at
    /// once.
    mutating func beginLeavingOneByOne() {
        capacityQueue.isUsed = true
        returnAllRests()
        recallClaims()
    }

    /// Reserves capacity for a caller that has not waited. Returns false if the caller must wait.
    mutating func reserveCapacityAtOnce(below limit: Int) -> Bool {
        capacityQueue.admitAtOnce(below: limit, unfinished: operationCount)
    }

    /// Admits capacity waiters after an operation has left.
    @inline(never)
    mutating func admit(with departure: inout Departure) { departure.waiters += admittedWaiters() }

    /// Returns the capacity waiters whose reservations are made now. The caller wakes them after
    /// it has released the lock.
    mutating func admittedWaiters() -> [Waiter] { capacityQueue.admit(unfinished: operationCount) }
}
