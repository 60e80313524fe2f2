// The choice of the operation that has to go when a queue is full. See "Operations that a full
// queue drops" in Cancellation.md.

import Synchronization

extension QueueState {
    enum RoomSearch {
        case room
        /// The queue has taken this operation out of those that are ready, to make room. The caller
        /// must cancel the operation, and end it once the caller's own operation is in the queue.
        case taking(Operation, capacity: Int)
        /// The caller must keep this operation from beginning, and ask again.
        case displacing(Operation, capacity: Int)
        /// The caller must ask again, because other threads wait for the lock.
        case searching
        /// There is no room: nothing waits that could go instead.
        case none(capacity: Int)
    }

    /// Prepares for a limit, which the caller sets next. Returns whether the queue has none now.
    ///
    /// From here on nodes that are added are kept from being dropped, and that is not forgotten
    /// before the limit is set, even if the queue is empty in between.
    mutating func beginLimiting() -> Bool {
        let limits = limitsInUse()
        limits.settingCount += 1
        return limits.limit == nil
    }

    /// Sets the limit, or ends it.
    mutating func endLimiting(with limit: OperationQueueOverflow?) {
        if limit != nil { limits?.settingCount -= 1 }
        limits?.limit = limit
        dropRoomIfUnused()
        decideAboutBlocks()
    }

    /// Finds room for an operation that is about to be added.
    mutating func makeRoom(for operation: Operation) -> RoomSearch {
        guard let limits, let limit = limits.limit, !operation.isNeverDropped,
            !limits.isExpected(operation)
        else { return .room }
        if limitedCount(limits) < limit.capacity {
            limits.expect(operation)
            return .room
        }
        if limit.dropsOldest {
            if let oldest = nextToDrop(limits) {
                if take(oldest) {
                    limits.drop(oldest)
                    limits.expect(operation)
                    return .taking(oldest, capacity: limit.capacity)
                }
                limits.mayDrop(oldest)
                return .displacing(oldest, capacity: limit.capacity)
            }
            if limits.firstPlace < ring.tail { return .searching }
        }
        limits.reject(operation)
        return .none(capacity: limit.capacity)
    }

    /// The number of operations that is limited.
    private func limitedCount(_ limits: Room) -> Int {
        let count = operationCount + limits.countOfArrivals - limits.droppedCount
        if limits.droppedCount == 0 { return count }
        // A dropped operation that a worker had taken already ends in its claim, and is then not
        // among those that the queue counts.
        var ended = 0
        for claim in slots.claims {
            claim.forEachTaken { entry in
                guard let operation = entry.operation?.takeUnretainedValue(),
                    operation.status.phase == .finished, limits.isDropped(operation)
                else { return }
                ended += 1
            }
        }
        return count + ended
    }

    /// Returns the oldest operation that may be dropped, and makes it if there is only a block.
    /// Nil if there is none, or if it was not found among the places that one hold of the lock
    /// looks at.
    ///
    /// What may not be dropped at one time may not be dropped later either. So each place is looked
    /// at once.
    private mutating func nextToDrop(_ limits: Room) -> Operation? {
        var place = max(limits.firstPlace, ring.head)
        let end = min(place + OperationQueue.placesAtOnce, ring.tail)
        var found: Operation?
        while found == nil, place < end {
            found = droppable(at: place, limits)
            place += 1
            limits.visitedCount += 1
        }
        limits.firstPlace = place
        return found
    }

    private mutating func droppable(at place: Int, _ limits: Room) -> Operation? {
        guard let entry = ring[place] else { return nil }
        guard let operation = entry.operation?.takeUnretainedValue() else {
            if !ring.isReady(place, lane: PriorityLanes.normal) { returnAllRests() }
            // Otherwise the block runs, has ended, or was dropped.
            guard ring.isReady(place, lane: PriorityLanes.normal) else { return nil }
            return materialize(place).takeUnretainedValue()
        }
        let state = operation.status
        guard !operation.hasBegun(state), !operation.isNeverDropped,
            !limits.isDropped(operation), !limits.isExempt(operation)
        else { return nil }
        if state.phase == .queued, state.has(.fastPath), !isInList(operation, state) {
            // A worker may have claimed the operation, and runs another one before it.
            returnAllRests()
        }
        return operation
    }

    private func isInList(_ operation: Operation, _ state: LifecycleState) -> Bool {
        isAmongReady(operation.place, lane: state.lane)
            || ring.isReady(operation.place, lane: OperationRing.cancelledLane)
    }

    /// Takes an operation that is ready, or that only has to leave, as a worker would that claims
    /// it by itself. Returns false if the operation is in no list, or needs a slot to leave.
    private mutating func take(_ operation: Operation) -> Bool {
        let state = operation.status
        guard state.phase == .queued, !operation.needsSlotToLeave(state) else { return false }
        if ring.isReady(operation.place, lane: OperationRing.cancelledLane) {
            ring.clearReady(operation.place, lane: OperationRing.cancelledLane)
        } else if !removeReady(operation.place, state: state) {
            return false
        }
        return operation.exchange { $0.claimed(takesSlot: false) } != nil
    }

    /// Takes an operation that was dropped. Returns false if it cannot leave now, or if something
    /// else has taken it.
    mutating func takeDropped(_ operation: Operation) -> Bool {
        operation.status.has(.cancelled) && take(operation)
    }

    /// Keeps operations from being dropped. Those that have finished may have left.
    mutating func exempt(_ operations: ArraySlice<Operation>) {
        for operation in operations where operation.status.phase != .finished {
            limits?.exempt(operation)
        }
    }
}

extension Operation {
    /// Whether the queue must not drop the operation: it is a barrier, or runs a piece of a task.
    fileprivate final var isNeverDropped: Bool { status.has(.barrier) || isPieceOfTask }

    /// Whether the operation has begun. One that waits for another attempt has.
    fileprivate final func hasBegun(_ state: LifecycleState) -> Bool {
        if state.isAtWork || state.phase == .finished { return true }
        guard !state.has(.fastPath), let existingExtras else { return false }
        return existingExtras.startTime.load(ordering: .relaxed) != 0
    }
}
