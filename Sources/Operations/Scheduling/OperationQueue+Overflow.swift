// The limit of a queue's operations. An addition first asks for room, in one hold of the lock. If
// there is none, the operation that has to go is chosen in the same hold. So the rule holds however
// many threads add operations. See "Operations that a full queue drops" in Cancellation.md.

import OperationsRuntime
import Synchronization

extension OperationQueue {
    /// What becomes of operations that are added while the queue is full; nil, for a queue without
    /// a limit, unless set.
    ///
    /// ```swift
    /// frames.overflow = .dropOldest(capacity: 8)
    /// ```
    ///
    /// All operations count, waiting and running, but not barriers. Only operations that wait are
    /// dropped: an operation that has begun goes on, also if it waits for another attempt. If all
    /// others have begun, the operation that is added is dropped: so let the capacity be larger
    /// than the width. A dropped operation is cancelled with the reason
    /// ``CancellationReason/displaced(capacity:)``, finishes as cancelled operations do, and no
    /// longer counts. Pieces of tasks (``executor``) count and are never dropped.
    ///
    /// When the addition returns, a dropped operation has left the queue, and its body is released.
    /// So however fast threads add, the queue keeps about as much as it may hold. The thread that
    /// adds releases the body, unless a worker is just ending the operation; it must hold no lock
    /// that the `deinit` of a captured object takes. As after every cancellation, an operation
    /// leaves later if it overrides ``Operation/start()``, or if its override of
    /// ``Operation/isReady`` returns false.
    ///
    /// The limit holds from the next addition on: setting it cancels nothing. Setting the overflow
    /// of ``main`` has no effect. For one addition, there are `add(_:capacity:within:body:)`, which
    /// waits, and `tryAdd(_:capacity:body:)`, which returns nil. In a queue that drops the newest
    /// operations, they wait for this capacity as well, or return nil.
    ///
    /// - Complexity: an addition takes O(workers that run operations of the queue), amortized.
    ///   Setting a limit takes O(operations and blocks in the queue), in short holds of the lock.
    public final var overflow: OperationQueueOverflow? {
        get { snapshot { $0.room.overflow?.setting } }
        set {
            guard !isMain else { return }
            if newValue != nil, event({ $0.beginLimiting() }) { exemptNodes() }
            event { state in
                if newValue != nil { state.room.overflow?.settingCount -= 1 }
                state.room.overflow?.setting = newValue
                if state.isEmpty { state.room.endIfUnused() }
                state.decideAboutBlocks()
                AdditionSteps.limiting.set(newValue != nil, in: self)
            }
        }
    }

    /// Adds an operation that is reserved for this queue, and drops what has to go for it.
    final func addWithinLimit(_ operation: Operation) {
        let (dropped, isRejected) = makeRoom(for: operation)
        var isTaken = false
        addAll([operation], reserved: true, behind: nil) { state in
            if isRejected { isTaken = state.takeDropped(operation) }
            state.forgetRoom(for: operation)
        }
        if isRejected { end(Dropped(operation: operation, isTaken: isTaken)) }
        // Only now: otherwise the queue could be empty in between, and waits for it would end.
        for other in dropped { end(other) }
    }

    /// An operation that was cancelled for lack of room, and whether this thread has taken it.
    private struct Dropped {
        let operation: Operation
        let isTaken: Bool
    }

    /// Makes room for an operation that is about to be added, or cancels it if there is none.
    private func makeRoom(for operation: Operation) -> (dropped: [Dropped], isRejected: Bool) {
        var dropped: [Dropped] = []
        while true {
            switch eventOffering({ $0.makeRoom(for: operation) }) {
            case .room: return (dropped, false)
            case .none(let capacity):
                operation.forceCancel(because: .displaced(capacity: capacity))
                return (dropped, true)
            case .searching: break
            case .taking(let other, let capacity):
                _ = other.keepFromBeginning(because: .displaced(capacity: capacity))
                CancelRound.cancel([other])
                return (dropped + [Dropped(operation: other, isTaken: true)], false)
            case .displacing(let other, let capacity):
                let isDropped = other.keepFromBeginning(because: .displaced(capacity: capacity))
                event { $0.displacementWasDecided(of: other, isDropped) }
                // Otherwise that operation has begun meanwhile.
                if isDropped {
                    CancelRound.cancel([other])
                    dropped.append(Dropped(operation: other, isTaken: false))
                }
            }
        }
    }

    /// Ends a dropped operation as a worker would, without its body, unless a worker does.
    ///
    /// The body is released at once, also if this thread is inside another operation, which may add
    /// many more.
    private func end(_ dropped: Dropped) {
        let operation = dropped.operation
        guard dropped.isTaken || event({ $0.takeDropped(operation) }),
            operation.status.phase != .finished
        else { return }
        operation.willEndUnbegun()
        operation.finish(releasesBodyHere: true)
    }

    /// Records that there is room for an operation, because capacity was reserved for it.
    final func expect(_ operation: Operation) {
        guard AdditionSteps.of(self).contains(.limiting) else { return }
        event { _ = $0.room.overflow?.arriving.insert(ObjectIdentifier(operation)) }
    }

    /// Forgets operations that are not about to be added any more.
    final func forgetRoom(for operations: [Operation]) {
        for start in stride(from: 0, to: operations.count, by: Self.additionsAtOnce) {
            let part = operations[start..<min(start + Self.additionsAtOnce, operations.count)]
            event { state in for operation in part { state.forgetRoom(for: operation) } }
        }
    }

    /// Keeps the nodes of graphs that have begun from being dropped. Nodes that are added later are
    /// kept from that in the hold of the lock that adds them.
    private func exemptNodes() {
        let nodes = operationsAtWork().flatMap(\.nodesAsOperations)
        for start in stride(from: 0, to: nodes.count, by: Self.additionsAtOnce) {
            let part = nodes[start..<min(start + Self.additionsAtOnce, nodes.count)]
            event { $0.exempt(part) }
        }
    }
}

extension Operation {
    /// Marks the operation, unless it has begun, so that it will not begin. Returns whether that is
    /// so; the caller must then cancel it by a ``CancelRound``.
    final func keepFromBeginning(because reason: CancellationReason) -> Bool {
        withExtras { extras in
            // Who reads the reason takes this lock, so both change together.
            guard exchange({ $0.keptFromBeginning() }) != nil else { return false }
            if extras.cancellationReason == nil, !status.has(.cancelled) {
                extras.cancellationReason = reason
            }
            return true
        }
    }
}

extension LifecycleState {
    /// The operation must not begin, if it has not. An operation that is to be cancelled anyway
    /// counts as kept from that, too.
    fileprivate mutating func keptFromBeginning() -> Actions? {
        switch phase {
        case .starting, .executing, .finished: return nil
        case .created, .waiting, .checkingReadiness, .queued:
            insert(.cancellationPending)
            return []
        }
    }
}

extension QueueState {
    enum Room {
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
        if room.overflow == nil {
            room.overflow = OverflowState()
        }
        room.overflow?.settingCount += 1
        return room.overflow?.setting == nil
    }

    /// Finds room for an operation that is about to be added.
    mutating func makeRoom(for operation: Operation) -> Room {
        let id = ObjectIdentifier(operation)
        guard let setting = room.overflow?.setting, !operation.isNeverDisplaced,
            room.overflow?.arriving.contains(id) != true
        else { return .room }
        if limitedCount < setting.capacity {
            room.overflow?.arriving.insert(id)
            return .room
        }
        if setting.dropsOldest {
            if let oldest = nextToDisplace() {
                room.overflow?.displaced.insert(ObjectIdentifier(oldest))
                if take(oldest) {
                    room.overflow?.arriving.insert(id)
                    return .taking(oldest, capacity: setting.capacity)
                }
                room.overflow?.undecidedCount += 1
                return .displacing(oldest, capacity: setting.capacity)
            }
            if let overflow = room.overflow, overflow.firstPlace < ring.tail { return .searching }
        }
        room.overflow?.rejected.insert(id)
        return .none(capacity: setting.capacity)
    }

    /// The number of operations that is limited.
    private var limitedCount: Int {
        guard let overflow = room.overflow else { return 0 }
        var count = operationCount + room.capacity.reservationCount + overflow.arriving.count
        count += overflow.undecidedCount - overflow.displaced.count
        if overflow.displaced.isEmpty { return count }
        // A displaced operation that a worker had taken already ends in its claim, and is then not
        // among those that the queue counts.
        for claim in slots.claims {
            claim.forEachTaken { entry in
                guard let operation = entry.operation?.takeUnretainedValue(),
                    operation.status.phase == .finished,
                    overflow.displaced.contains(ObjectIdentifier(operation))
                else { return }
                count += 1
            }
        }
        return count
    }

    /// Returns the oldest operation that may be dropped, and makes it if there is only a block.
    /// Nil if there is none, or if it was not found among the places that one hold of the lock
    /// looks at.
    ///
    /// What may not be dropped at one time may not be dropped later either. So each place is looked
    /// at once.
    private mutating func nextToDisplace() -> Operation? {
        var place = max(room.overflow?.firstPlace ?? 0, ring.head)
        let end = min(place + OperationQueue.placesAtOnce, ring.tail)
        var found: Operation?
        while found == nil, place < end {
            found = droppable(at: place)
            place += 1
            room.overflow?.visitedCount += 1
        }
        room.overflow?.firstPlace = place
        return found
    }

    private mutating func droppable(at place: Int) -> Operation? {
        guard let entry = ring[place] else { return nil }
        guard let operation = entry.operation?.takeUnretainedValue() else {
            if !ring.isReady(place, lane: PriorityLanes.normal) { returnAllRests() }
            // Otherwise the block runs, has ended, or was dropped.
            guard ring.isReady(place, lane: PriorityLanes.normal) else { return nil }
            return materialize(place).takeUnretainedValue()
        }
        let (id, state) = (ObjectIdentifier(operation), operation.status)
        guard !operation.hasBegun(state), !operation.isNeverDisplaced,
            room.overflow?.displaced.contains(id) == false,
            room.overflow?.exempt.contains(id) == false
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

    /// Records whether an operation that was chosen is dropped, or has begun meanwhile.
    mutating func displacementWasDecided(of operation: Operation, _ isDropped: Bool) {
        room.overflow?.undecidedCount -= 1
        if !isDropped { room.overflow?.displaced.remove(ObjectIdentifier(operation)) }
    }

    /// Keeps operations from being dropped. Those that have finished may have left.
    mutating func exempt(_ operations: ArraySlice<Operation>) {
        for operation in operations where operation.status.phase != .finished {
            room.overflow?.exempt.insert(ObjectIdentifier(operation))
        }
    }

    /// Records that an operation is in the queue.
    mutating func arrivedInRoom(_ operation: Operation) {
        let id = ObjectIdentifier(operation)
        room.overflow?.arriving.remove(id)
        if room.overflow?.rejected.remove(id) != nil { room.overflow?.displaced.insert(id) }
    }

    /// Forgets an operation that is not about to be added any more. One that was added is not
    /// affected.
    mutating func forgetRoom(for operation: Operation) {
        room.overflow?.arriving.remove(ObjectIdentifier(operation))
        room.overflow?.rejected.remove(ObjectIdentifier(operation))
    }
}

extension Operation {
    /// Whether the queue must not drop the operation: it is a barrier, or runs a piece of a task.
    fileprivate final var isNeverDisplaced: Bool { status.has(.barrier) || isPieceOfTask }

    /// Whether the operation has begun. One that waits for another attempt has.
    fileprivate final func hasBegun(_ state: LifecycleState) -> Bool {
        if state.isAtWork || state.phase == .finished { return true }
        guard !state.has(.fastPath), let existingExtras else { return false }
        return existingExtras.startTime.load(ordering: .relaxed) != 0
    }
}
