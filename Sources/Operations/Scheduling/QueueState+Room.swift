// Capacity waiters; see "Capacity waiters" in Waits.md.

extension QueueState {
    /// Makes each operation leave right after its end from now on, so that free capacity is seen at
    /// once.
    mutating func beginLeavingOneByOne() {
        room.isUsed = true
        giveBackAll()
        recallBatches()
    }

    /// Gives a place to a caller that has not waited. Returns false if the caller must wait.
    mutating func placeAtOnce(below limit: Int) -> Bool {
        room.admitAtOnce(below: limit, unfinished: operationCount)
    }

    /// Admits capacity waiters after an operation has left.
    @inline(never)
    mutating func admit(with departure: inout Departure) { departure.waiters += admittedWaiters() }

    /// Returns the capacity waiters that get a place now. The caller wakes them after it has
    /// released the lock.
    mutating func admittedWaiters() -> [Waiter] { room.admit(unfinished: operationCount) }
}
