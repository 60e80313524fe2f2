// Which operations a worker gets to run, and in which order.

import OperationsRuntime

extension QueueState {
    /// Returns the place and lane of the operation to start next.
    mutating func best() -> (place: Int, lane: Int)? {
        ready.order.isDefault ? bestByPriority() : bestInOrder()
    }

    @inline(__always)
    mutating func bestByPriority() -> (place: Int, lane: Int)? {
        let limit = barrierPlace
        for lane in (0..<PriorityLanes.count).reversed() {
            var place: Int?
            if ring.readyCount(lane) > 0 { place = ring.firstReady(lane) }
            // A barrier that waits for its turn does not block the operations before it.
            if let found = place, !isEligible(found, limit: limit) { place = nil }
            if !ready.rescheduled.isEmpty, let first = ready.rescheduled.first(lane, upTo: limit),
                first.key.isBefore(place ?? Int.max)
            {
                place = first.place
            }
            if let place, isEligible(place, limit: limit) { return (place, lane) }
        }
        return nil
    }

    /// Whether the first barrier lets the operation at `place` start. The barrier itself may start
    /// when nothing is before it.
    @inline(__always)
    func isEligible(_ place: Int, limit: Int) -> Bool {
        place < limit || (place == limit && ring.head == limit)
    }

    /// - Parameters:
    ///   - promotes: whether claimed operations have to be promoted because of their place.
    ///   - joins: whether the entry is to join others in a claim. The result is nil if the entry is
    ///     claimed by itself.
    private mutating func takeBest(
        _ urgency: Urgency?, promotes: Bool, joins: Bool = false
    ) -> (entry: Entry, place: Int, lane: Int)? {
        guard let (place, lane) = best() else { return nil }
        guard var entry = ring[place] else { fatalError("unreachable: a ready place is taken") }
        guard matches(entry, at: place, urgency), !joins || mayJoin(entry) else { return nil }
        if promotes { entry = promoteClaimed(entry, at: place) }
        if ring.isReady(place, lane: lane) {
            ring.clearReady(place, lane: lane)
        } else {
            if ready.order.hasGroups { ready.rescheduled.starts(place) }
            _ = removeReadyOutOfOrder(place)
        }
        if ready.order.isStrict { ready.order.advance(to: place + 1) }
        ready.count -= 1
        return (entry, place, lane)
    }

    private mutating func takeCancelled(joins: Bool = false) -> (entry: Entry, place: Int)? {
        guard let place = ring.firstReady(OperationRing.cancelledLane) else { return nil }
        guard let entry = ring[place] else { fatalError("unreachable: a ready place is taken") }
        if joins, !mayJoin(entry) { return nil }
        ring.clearReady(place, lane: OperationRing.cancelledLane)
        return (entry, place)
    }

    /// Whether an entry may be in a claim with others.
    @inline(__always)
    private func mayJoin(_ entry: Entry) -> Bool {
        guard singlyClaimedCount > 0, let operation = entry.operation else { return true }
        return !isSingle(operation)
    }

    enum Work {
        case none
        /// One operation, retained for the worker.
        case single(Reference)
        /// An operation that was not claimed because there were not enough permits. Its observers
        /// must be notified. Retained.
        case refused(Reference)
        /// Entries, in the claim.
        case claim
    }

    /// Claims work for an executor that took the queue's reference.
    mutating func executorRequestedWork(
        _ claim: Claim, for claimant: QueueExecutor = .workers, offered urgency: Urgency = .usual,
        cores: Int
    ) -> Work {
        // The queue was given another executor while the reference was on its way.
        guard executor.isSame(as: claimant) else { return .none }
        qualities.offered.remove(urgency)
        if qualities.areInUse { endQualityIfUnused() }
        let work = self.claim(claim, offered: urgency, cores: cores)
        #if DEBUG
        if case .none = work { return claimAgain(claim, offered: urgency, cores: cores) }
        #endif
        return work
    }

    mutating func claimCancelled(_ claim: Claim) -> Work? {
        guard hasCancelled else { return nil }
        while let first = takeCancelled() {
            if let operation = first.entry.operation, isSingle(operation) {
                if claimSingle(operation, takesSlot: false) { return .single(operation) }
                continue
            }
            claim.claimed(
                slots: .none, recallEpoch: slots.recallEpoch, lane: OperationRing.cancelledLane
            ) { filling in
                filling.append(first.entry, at: first.place)
                while !claimsIndividually, filling.count < Claim.capacity,
                    let next = takeCancelled(joins: true)
                {
                    filling.append(next.entry, at: next.place)
                }
                if qualities.areInUse { filling.keepsNoSuccessors() }
            }
            slots.register(claim)
            return .claim
        }
        return nil
    }

    /// - Parameter urgency: the urgency of the operations to claim; nil for any.
    mutating func claimReady(_ claim: Claim, _ urgency: Urgency?, cores: Int) -> Work? {
        guard slots.mayBegin, ready.count > 0 else { return nil }
        if claimsByLanes {
            claimByLanes(claim, cores: cores)
            return .claim
        }
        let promotes = hasPromotedPlaces
        var refusals = 0
        while let first = takeBest(urgency, promotes: promotes) {
            if claimsIndividually || singlyClaimedCount > 0,
                let operation = claimsIndividually
                    ? materialize(first.place) : first.entry.operation,
                isSingle(operation)
            {
                if !mayClaim(operation) {
                    if ready.order.isStrict { blockRest(operation) }
                    if let refused = retainedIfObserved(operation) { return .refused(refused) }
                    refusals += 1
                    // The remaining operations are left to the next offer, because other threads
                    // wait for the lock.
                    if refusals == Self.refusalsAtOnce { return nil }
                } else if claimSingle(operation, takesSlot: true) {
                    return .single(operation)
                }
                continue
            }
            let size = claimSize(of: ready.count + 1, cores: cores)
            claim.claimed(
                slots: slots.slotsOfClaim, recallEpoch: slots.recallEpoch,
                urgency: urgency ?? .usual,
                lane: first.lane
            ) { filling in
                filling.append(first.entry, at: first.place)
                while filling.count < size,
                    let next = takeBest(urgency, promotes: promotes, joins: true)
                {
                    filling.append(next.entry, at: next.place)
                    filling.lowestLane = next.lane
                }
                isFilled(&filling)
            }
            slots.register(claim)
            return .claim
        }
        return nil
    }

    /// Whether nothing but the ring's lanes decides what is claimed next, and one claim may take
    /// several entries.
    private var claimsByLanes: Bool {
        ready.order.isDefault && singlyClaimedCount == 0 && ready.rescheduled.isEmpty
            && !claimsIndividually && !qualities.areInUse
    }

    private mutating func claimByLanes(_ claim: Claim, cores: Int) {
        let size = claimSize(of: ready.count, cores: cores)
        claim.claimed(slots: slots.slotsOfClaim, recallEpoch: slots.recallEpoch) { filling in
            for lane in (0..<PriorityLanes.count).reversed()
            where filling.count < size && ring.readyCount(lane) > 0 {
                ring.takeReady(lane, limit: size - filling.count) { entries, place, count in
                    filling.append(entries, at: place, count: count)
                }
                filling.lowestLane = lane
            }
            ready.count -= filling.count
            isFilled(&filling)
        }
        slots.register(claim)
    }

    @inline(__always)
    private mutating func isFilled(_ filling: inout Claim.Filling) {
        if records.isInstrumented { materialize(in: &filling) }
        if filling.count > 1 { slots.holds(lane: filling.lowestLane) }
        if qualities.areInUse { filling.keepsNoSuccessors() }
    }

    /// Whether an operation is claimed by itself.
    @inline(__always)
    private func isSingle(_ operation: Reference) -> Bool {
        claimsIndividually || operation._withUnsafeGuaranteedRef { !$0.status.has(.fastPath) }
    }

    private mutating func claimSingle(_ operation: Reference, takesSlot: Bool) -> Bool {
        let isClaimed = operation._withUnsafeGuaranteedRef {
            $0.exchange { $0.claimed(takesSlot: takesSlot) } != nil
        }
        guard isClaimed else { return false }
        _ = operation.retain()
        if takesSlot { slots.take() }
        return true
    }

    /// Returns the number of entries to claim.
    @inline(__always)
    func claimSize(of readyCount: Int, cores: Int) -> Int {
        guard slots.pace.isQuick, mayClaimSeveral else { return 1 }
        let most = room?.mostInClaim ?? .max
        return slots.claimSize(of: readyCount, cores: cores, most: most)
    }
}
