import OperationsRuntime
import Synchronization

// Orders other than the default one; see OrderOfClaims.md.

extension QueueState {
    /// The last place from which an operation may start.
    private var limit: Int {
        let barrier = barrierPlace
        return barrier == .max || barrier == ring.head ? barrier : barrier - 1
    }

    /// Whether one claim may take several operations, which then run one after the other, with no
    /// operation between them that would have gone first.
    var mayClaimSeveral: Bool {
        // The monitor thread does not watch a dispatch queue's thread, where the rest of a claim
        // could get stuck.
        if case .dispatch = executor { return false }
        return (ready.order.isDefault || (ready.order.isStrict && slots.width == 1))
            && room?.leavesOneByOne != true
            && !ready.rescheduled.hasDeadlines
    }

    // MARK: Ready lists

    // Code that few operations need is kept out of line, so that the path of every operation stays
    // small.

    /// Takes over the deadline of an operation that was added.
    @inline(never)
    mutating func takeOver(_ operation: Operation, at place: Int) {
        ready.rescheduled.setDeadline(operation.sortDeadline, at: place)
    }

    /// Puts a ready operation where it belongs if that may not be its lane.
    ///
    /// - Parameter time: the time since which the operation has been ready; nil for now.
    @inline(never)
    mutating func insertReadyOutOfOrder(
        _ place: Int, state: LifecycleState, readySince time: Int64?
    ) {
        let isRescheduled = state.has(.rescheduled)
        guard
            ready.setReady(place, lane: state.lane, isRescheduled: isRescheduled, since: time)
        else { return ring.setReady(place, lane: state.lane) }
        // The operation may go before others of its lane.
        if ready.rescheduled.hasDeadlines, !ready.order.isAging,
            state.lane >= slots.lowestClaimedLane
        {
            slots.recall()
        }
    }

    /// Removes a ready operation that is not in its lane. Returns false if it is not there.
    @inline(never)
    mutating func removeReadyOutOfOrder(_ place: Int) -> Bool {
        !ready.rescheduled.isEmpty && ready.rescheduled.clearReady(place)
    }

    func isAmongReady(_ place: Int, lane: Int) -> Bool {
        ring.isReady(place, lane: lane) || ready.rescheduled.isReady(place)
    }

    // MARK: Claiming

    @inline(never)
    mutating func bestInOrder() -> (place: Int, lane: Int)? {
        if let cursor = ready.order.cursor { return bestStrictly(from: cursor) }
        if ready.order.reschedulesAll { return ready.rescheduled.first(upTo: limit) }
        return ready.order.setting == .lifo ? bestOfLast() : bestByPriority()
    }

    private mutating func bestOfLast() -> (place: Int, lane: Int)? {
        let limit = limit
        for lane in (0..<PriorityLanes.count).reversed() {
            let place = ring.readyCount(lane) > 0 ? ring.lastReady(lane, upTo: limit) : nil
            if !ready.rescheduled.isEmpty, let first = ready.rescheduled.first(lane, upTo: limit),
                first.key.isBefore(place.map { -$0 } ?? .max)
            {
                return (first.place, lane)
            }
            if let place { return (place, lane) }
        }
        return nil
    }

    private mutating func bestStrictly(from cursor: Int) -> (place: Int, lane: Int)? {
        var place = max(cursor, ring.head)
        while place < ring.tail, isPast(place) { place += 1 }
        ready.order.advance(to: place)
        guard let entry = ring[place], let lane = readyLane(of: entry, at: place),
            isEligible(place, limit: barrierPlace)
        else { return nil }
        return (place, lane)
    }

    /// The lane of a ready entry; nil if the entry is not ready.
    private func readyLane(of entry: Entry, at place: Int) -> Int? {
        // A block that is not past is ready.
        guard let operation = entry.operation else { return PriorityLanes.normal }
        let state = operation._withUnsafeGuaranteedRef { $0.status }
        guard state.phase == .queued, isAmongReady(place, lane: state.lane) else { return nil }
        return state.lane
    }

    /// Whether a place does not hold back those behind it in a strict order, because its entry has
    /// left, is cancelled or is claimed.
    private func isPast(_ place: Int) -> Bool {
        guard let entry = ring[place] else { return true }
        guard let operation = entry.operation else {
            return !ring.isReady(place, lane: PriorityLanes.normal)
        }
        return isPast(operation)
    }

    /// Whether an operation does not hold back those behind it in a strict order, because it is
    /// cancelled or claimed.
    private func isPast(_ operation: Reference) -> Bool {
        let (state, place, leavesAtOnce) = operation._withUnsafeGuaranteedRef { operation in
            let state = operation.status
            let leavesAtOnce = state.has(.cancelled) && !operation.needsSlotToLeave(state)
            return (state, operation.place, leavesAtOnce)
        }
        switch state.phase {
        case .starting, .executing, .finished: return true
        case .created, .waiting, .checkingReadiness: return leavesAtOnce
        case .queued:
            if leavesAtOnce || state.has(.claimedAlone) { return true }
            if isAmongReady(place, lane: state.lane) { return false }
            // Unless a claim has taken the operation, it is on its way to the ready list.
            return slots.claims.contains { $0.hasTaken(operation.toOpaque()) }
        }
    }

    /// Returns the first place from which a strict order wants to start an entry before the one at
    /// `place`; nil if that one is next.
    ///
    /// - Complexity: O(places from the cursor on), at which most entries hold back the others.
    func firstStrictly(before place: Int) -> Int? {
        placesThatMayHoldBack(place).first { !isPast($0) }
    }

    /// The places before this one whose entries may hold it back in a strict order: those from
    /// the cursor on.
    func placesThatMayHoldBack(_ place: Int) -> Range<Int> {
        guard let cursor = ready.order.cursor else { return place..<place }
        let first = max(cursor, ring.head)
        return min(first, place)..<place
    }

    /// Whether an operation may have to wait for operations that were added before it.
    var ordersStarts: Bool { ready.order.isStrict || !barriers.isEmpty }

    /// Whether an operation that was added may be in a circle of operations that wait for each
    /// other; see Cycles.md.
    ///
    /// - Parameter isBeforeOthers: whether it was added before others.
    @inline(__always)
    func mayCloseCircle(_ added: LifecycleState, isBeforeOthers: Bool = false) -> Bool {
        if added.has(.hasSuccessors) { return added.unfinishedDependencies > 0 || ordersStarts }
        return isBeforeOthers && added.unfinishedDependencies > 0 && ordersStarts
    }

    /// The most places that are searched for what precedes one operation.
    private static var precedingLimit: Int { 10_000 }

    /// Returns the last operation that a strict order wants to start before the one at `place`; nil
    /// if there is none.
    func lastStrictly(before place: Int) -> Operation? {
        guard ready.order.isStrict, place > ring.head else { return nil }
        let first = max(ring.head, place - Self.precedingLimit)
        for earlier in (first..<place).reversed() {
            if let operation = ring[earlier]?.operation, !isPast(operation) {
                return operation.takeUnretainedValue()
            }
        }
        return nil
    }

    /// Returns the operations that a barrier requires to end before this one starts: the last
    /// barrier before it. If the operation is a barrier itself, these are also the operations after
    /// that barrier which wait for others.
    func precedingByBarrier(_ operation: Operation) -> [Operation] {
        let place = operation.place
        guard barrierPlace <= place else { return [] }
        let barrier = barriers.last { $0._withUnsafeGuaranteedRef { $0.place < place } }?
            .takeUnretainedValue()
        var preceding = [barrier].compactMap { $0 }
        guard operation.status.has(.barrier) else { return preceding }
        let first = max(ring.head, barrier.map { $0.place + 1 } ?? ring.head)
        for earlier in first..<max(first, min(place, first + Self.precedingLimit)) {
            guard let reference = ring[earlier]?.operation else { continue }
            let mayWait = reference._withUnsafeGuaranteedRef { operation in
                let state = operation.status
                return state.unfinishedDependencies > 0 || state.isAtWork
            }
            if mayWait { preceding.append(reference.takeUnretainedValue()) }
        }
        return preceding
    }

    // MARK: Changes

    /// Changes the order, the aging span, and whether the queue has groups.
    ///
    /// - Complexity: O(n log n) with aging or groups, before or after the change. Otherwise
    ///   O(m log m), with m operations that are no longer in the order of their places: the others
    ///   stay in the lanes of the ring, and blocks stay blocks.
    mutating func arrange(
        order setting: OperationQueueOrder, agingSpan span: Int64?, hasGroups: Bool
    ) {
        guard
            setting != ready.order.setting || span != ready.order.agingSpan
                || hasGroups != ready.order.hasGroups
        else { return }
        let new = ReadyOrder(setting, agingSpan: span, hasGroups: hasGroups, cursor: ring.head)
        let movesAll = ready.order.reschedulesAll || new.reschedulesAll
        returnAllRests()
        if movesAll { materializeAll() }
        var readyOnes: [(place: Int, since: Int64?)] = []
        for place in movesAll ? Array(ring.head..<ring.tail) : ready.rescheduled.places {
            guard let state = ring[place]?.operation?._withUnsafeGuaranteedRef({ $0.status }) else {
                continue
            }
            let since = ready.rescheduled.readySince(place)
            if removeReady(place, state: state) { readyOnes.append((place, since)) }
            // Without aging and groups, the operation goes by its place.
            if !state.has(.rescheduled) { ready.rescheduled.forget(place) }
        }
        ready.order = new
        decideAboutBlocks()
        ready.rescheduled.shareFairly(ready.order.sharesFairly)
        for (place, since) in readyOnes {
            ring[place]?.operation?._withUnsafeGuaranteedRef {
                insertReady($0, place: place, readySince: since)
            }
        }
        slots.recall()
    }

    /// Gives an operation that has just come a group. The queue has groups until it is empty.
    mutating func setShare(_ share: Share, of operation: Operation) {
        if !ready.order.hasGroups {
            arrange(order: ready.order.setting, agingSpan: ready.order.agingSpan, hasGroups: true)
        }
        let (place, state) = (operation.place, operation.status)
        guard state.phase != .starting, state.phase != .executing else { return }
        operation.lifecycle.insert(.rescheduled)
        let wasReady = removeReady(place, state: state)
        ready.rescheduled.setShare(share, at: place)
        if wasReady { insertReady(operation, place: place) }
    }

    /// Ends to let groups take turns. The queue is empty.
    @inline(never)
    mutating func forgetGroups() {
        ready.order = ReadyOrder(
            ready.order.setting, agingSpan: ready.order.agingSpan, cursor: ring.head)
        ready.rescheduled.shareFairly(false)
        decideAboutBlocks()
    }

    /// Gives an unfinished operation of the queue a deadline.
    mutating func setDeadline(_ deadline: Int64, of operation: Operation) {
        operation.existingExtras?.sortDeadline.store(deadline, ordering: .relaxed)
        let (place, state) = (operation.place, operation.status)
        guard state.phase != .starting, state.phase != .executing else { return }
        operation.lifecycle.insert(.rescheduled)
        let since = ready.rescheduled.readySince(place)
        let wasReady = removeReady(place, state: state)
        ready.rescheduled.setDeadline(deadline, at: place)
        if wasReady {
            insertReady(operation, place: place, readySince: since)
        } else if state.phase == .queued {
            // A claim may hold the operation.
            slots.recall()
        }
    }
}
