// Waiting for room; see Scheduling.md.

extension QueueState {
    /// From here on each operation leaves right after its end, so that room is seen at once.
    mutating func beginLeavingOneByOne() {
        room.isUsed = true
        giveBackAll()
        recallBatches()
    }

    /// Gives a place to somebody who comes to wait; false if they have to.
    mutating func placeAtOnce(below limit: Int) -> Bool {
        room.admitAtOnce(below: limit, unfinished: operationCount)
    }

    /// Somebody has left.
    @inline(never)
    mutating func admit(with departure: inout Departure) { departure.waiters += admitted() }

    /// Those who get a place now; to be woken once the lock is free.
    mutating func admitted() -> [Waiter] { room.admit(unfinished: operationCount) }
}
