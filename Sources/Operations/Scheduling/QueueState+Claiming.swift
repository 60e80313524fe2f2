// Which operations a worker gets to run, and in which order.

extension QueueState {
    /// Returns the place and lane of the operation to start next.
    mutating func best() -> (place: Int, lane: Int)? {
        order.isDefault ? bestByPriority() : bestInOrder()
    }

    @inline(__always)
    mutating func bestByPriority() -> (place: Int, lane: Int)? {
        let limit = barrierPlace
        for lane in (0..<PriorityLanes.count).reversed() {
            var place: Int?
            if ring.readyCount(lane) > 0 { place = ring.firstReady(lane) }
            // A barrier that waits for its turn does not block the operations before it.
            if let found = place, !isEligible(found, limit: limit) { place = nil }
            if !rescheduled.isEmpty, let first = rescheduled.first(lane, upTo: limit),
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

    /// - Parameter promotes: whether claimed operations have to be promoted because of their place.
    private mutating func takeBest(
        _ urgency: Urgency?, promotes: Bool
    ) -> (Reference, lane: Int)? {
        guard let (place, lane) = best() else { return nil }
        guard let operation = ring[place] else { fatalError("unreachable: a ready place is taken") }
        guard matches(operation, urgency) else { return nil }
        if promotes { promoteClaimed(operation, at: place) }
        if ring.isReady(place, lane: lane) {
            ring.clearReady(place, lane: lane)
        } else {
            _ = removeReadyOutOfOrder(place)
        }
        if order.isStrict { order.advance(to: place + 1) }
        readyCount -= 1
        return (operation, lane)
    }

    private mutating func takeCancelled() -> Reference? {
        guard let place = ring.firstReady(OperationRing.cancelledLane) else { return nil }
        ring.clearReady(place, lane: OperationRing.cancelledLane)
        return ring[place]
    }

    enum Work {
        case none
        /// One operation, retained for the worker.
        case single(Reference)
        /// An operation that was not claimed because there were not enough permits. Its observers
        /// must be notified. Retained.
        case refused(Reference)
        case batch
        /// Bare blocks, in the batch for them.
        case bareBlocks
    }

    /// Claims work for an executor that took the queue's reference.
    mutating func executorRequestedWork(
        _ batch: Batch, for claimant: QueueExecutor = .workers, offered urgency: Urgency = .usual,
        cores: Int
    ) -> Work {
        // The queue was given another executor while the reference was on its way.
        guard executor.isSame(as: claimant) else { return .none }
        offered.remove(urgency)
        return claim(batch, offered: urgency, cores: cores)
    }

    mutating func claimCancelled(_ batch: Batch) -> Work? {
        while let first = takeCancelled() {
            guard !claimsIndividually, first._withUnsafeGuaranteedRef({ $0.status.has(.fastPath) })
            else {
                if claimSingle(first, takesSlot: false) { return .single(first) }
                continue
            }
            batch.claimed(holdsSlot: false, recallEpoch: recallEpoch) { entries in
                entries[0] = first
                var count = 1
                while unbatchableCount == 0, count < Batch.capacity, let next = takeCancelled() {
                    entries[count] = next
                    count += 1
                }
                return (count, lowestLane: 0)
            }
            batches.append(batch)
            return .batch
        }
        return nil
    }

    /// - Parameter urgency: the urgency of the operations to claim; nil for any.
    mutating func claimReady(_ batch: Batch, _ urgency: Urgency?, cores: Int) -> Work? {
        guard !isSuspended, hasFreeSlot else { return nil }
        let promotes = hasPromotedPlaces
        var refusals = 0
        while let (first, firstLane) = takeBest(urgency, promotes: promotes) {
            let isSingle =
                claimsIndividually
                || (unbatchableCount > 0
                    && first._withUnsafeGuaranteedRef { !$0.status.has(.fastPath) })
            guard !isSingle else {
                if !mayClaim(first) {
                    if order.isStrict { blockRest(first) }
                    if let refused = retainedIfObserved(first) { return .refused(refused) }
                    refusals += 1
                    // The remaining operations are left to the next offer, because other threads
                    // wait for the lock.
                    if refusals == Self.refusalsAtOnce { return nil }
                } else if claimSingle(first, takesSlot: true) {
                    return .single(first)
                }
                continue
            }
            var lowest = firstLane
            let size = batchSize(cores: cores)
            batch.claimed(
                holdsSlot: true, recallEpoch: recallEpoch, urgency: urgency ?? .usual
            ) { entries in
                entries[0] = first
                var count = 1
                if claimsInLaneOrder {
                    for lane in (0...firstLane).reversed()
                    where count < size && ring.readyCount(lane) > 0 {
                        let taken = ring.takeReady(
                            lane, limit: size - count, into: entries + count)
                        readyCount -= taken
                        count += taken
                        lowest = lane
                    }
                } else {
                    while count < size, let (next, lane) = takeBest(urgency, promotes: promotes) {
                        entries[count] = next
                        lowest = lane
                        count += 1
                    }
                }
                if count > 1 { lowestBatchedLane = min(lowestBatchedLane, lowest) }
                return (count, lowest)
            }
            running += 1
            batches.append(batch)
            return .batch
        }
        return nil
    }

    /// Whether operations are claimed in the order of the ring's lanes.
    private var claimsInLaneOrder: Bool {
        order.isDefault && barriers.isEmpty && rescheduled.isEmpty && !QualityOfServiceUse.isOn
    }

    private mutating func claimSingle(_ operation: Reference, takesSlot: Bool) -> Bool {
        let isClaimed = operation._withUnsafeGuaranteedRef {
            $0.exchange { $0.claimed(takesSlot: takesSlot) } != nil
        }
        guard isClaimed else { return false }
        _ = operation.retain()
        if takesSlot { running += 1 }
        return true
    }

    /// The approximate time that another worker needs to wake up.
    private static let smallNanoseconds: UInt64 = 4_000

    /// Returns the number of operations to claim: one, unless many are ready that take almost no
    /// time.
    @inline(__always)
    func batchSize(cores: Int) -> Int {
        guard unbatchableCount == 0, typicalNanoseconds < Self.smallNanoseconds, mayBatch else {
            return 1
        }
        let time = typicalNanoseconds + 1
        // Work this small is done sooner than it is shared.
        let least = Int(Self.smallNanoseconds / time)
        let share = (readyCount + 1) / cores
        // Each operation whose body suspends takes a slot. This batch has not taken its own slot
        // yet.
        let most = bodiesSuspend && width >= 0 ? min(32, max(1, width - running)) : 32
        return min(max(share, least, 1), most, Int(16 * Self.smallNanoseconds / time))
    }
}
