import OperationsRuntime
import Synchronization

extension OperationQueue {
    /// Whether a promotion reaches the tasks of async bodies that are running.
    var promotesTasks: Bool {
        QualityOfServiceUse.isOn && runsOnWorkers.load(ordering: .relaxed)
    }

    func setQualityRank(_ rank: Int) {
        QualityOfServiceUse.begins(rank: rank)
        eventOffering { $0.qualityChanged(to: rank) }
    }

    /// Records that the place of the operation has a rank. Returns the promotions of operations
    /// ahead of it, which the caller has to perform: in its own loop, because each may lead to
    /// further ones.
    func promoteAhead(of operation: Operation, to rank: Int, byWait: Bool) -> [Promotion] {
        eventOffering { state in
            guard operation.status.phase != .finished else { return [] }
            state.promoteAhead(of: operation.place, to: rank, byWait: byWait)
            state.raiseClaimed(operation)
            return state.takePromotions()
        }
    }

    /// Records that an operation of the queue has got a quality, which may be lower than before.
    func qualityWasSet(of operation: Operation, to rank: Int) {
        eventOffering { state in
            if operation.status.phase != .finished { state.beginQuality(at: rank) }
        }
    }

    /// Promotes all operations of the queue because the calling thread is about to wait for all of
    /// them.
    func promoteAllForWait() {
        promoteAll(to: Operation.rankOfWaitingThread)
    }

    func promoteAll(byWaitOf operation: Operation) {
        promoteAll(to: operation.effectiveQualityRank)
    }

    private func promoteAll(to rank: Int) {
        guard rank > 0 else { return }
        eventOffering { $0.promoteAhead(of: $0.ring.tail, to: rank, byWait: true) }
    }
}

extension QueueState {
    /// Returns the quality of an operation, including the promotion of its place.
    func quality(of operation: Operation) -> QualityOfServiceState {
        let state = operation.status
        var quality = state.quality
        if state.phase != .finished { _ = qualities.marks.apply(to: &quality, at: operation.place) }
        return quality
    }

    // MARK: Promotions

    /// Promotes the operations before `place` to at least `rank`, the rank of the operation at
    /// `place`.
    ///
    /// - Parameter isByWait: whether a thread waits for that operation, which has no such quality
    ///   of its own.
    @inline(__always)
    mutating func promoteAhead(of place: Int, to rank: Int, byWait isByWait: Bool = false) {
        guard rank > 0, !ignoresQuality else { return }
        let newly = qualities.marks.raise(before: place, to: rank)
        if QualityOfServiceUse.isOn { raised(newly, to: rank, byWait: isByWait) }
    }

    @inline(never)
    private mutating func raised(_ places: Range<Int>, to rank: Int, byWait isByWait: Bool) {
        if !isByWait || QualityOfServiceUse.isInQueues { beginQuality(at: rank) }
        if !places.isEmpty, QualityOfServiceUse.isInQueues { promote(places, to: rank) }
    }

    // MARK: Use

    // The use of qualities begins and ends under the queue's lock. See "Where qualities are in use"
    // in Urgency.md.

    /// Begins to use qualities in this queue, because one of its operations has this rank, if the
    /// rank makes the operation more or less urgent than usual.
    @inline(never)
    mutating func beginQuality(at rank: Int) {
        guard !isEmpty, !ignoresQuality, qualities.begin(at: rank) else { return }
        // The claims keep operations that become ready, without asking for their urgency.
        slots.recall()
    }

    /// Ends to use qualities in this queue, if it is empty, and its executor has no reference to it
    /// that came of a quality.
    @inline(never)
    mutating func endQualityIfUnused() {
        if isEmpty { qualities.endIfUnused() }
    }

    /// Sets the rank of the queue's own quality, and promotes the operations of the queue.
    mutating func qualityChanged(to rank: Int) {
        guard !ignoresQuality else { return }
        qualities.rank = rank
        decideAboutBlocks()
        guard rank > 0 else { return }
        qualities.marks.raiseByQueue(before: ring.tail, to: rank)
        beginQuality(at: rank)
        promote(ring.head..<ring.tail, to: rank)
    }

    /// Finds the operations for which promotion at the time of their claim is not enough:
    /// operations that have been claimed, and may be running, and operations that wait for others,
    /// which have to be promoted too.
    ///
    /// - Complexity: O(places). No place is visited twice for the same rank.
    @inline(never)
    private mutating func promote(_ places: Range<Int>, to rank: Int) {
        var found: [Promotion] = []
        // A pending block is promoted when it is claimed. A running one needs its operation.
        materializeRunning()
        for place in max(places.lowerBound, ring.head)..<max(places.upperBound, ring.head) {
            guard let operation = ring[place]?.operation?.takeUnretainedValue() else { continue }
            let state = operation.status
            guard state.quality.effectiveRank < rank, state.phase != .finished,
                state.unfinishedDependencies > 0 || !ring.isReady(place, lane: state.lane)
            else { continue }
            found.append(Promotion(operation: operation, rank: rank))
        }
        guard !found.isEmpty else { return }
        laterEffects.promote(found)
        // The operations in claims were claimed without the promotion.
        slots.recall()
    }

    // MARK: Claiming

    /// Whether claimed operations have to be promoted because of their place.
    var hasPromotedPlaces: Bool {
        qualities.areInUse && qualities.marks.end > ring.head
    }

    /// Promotes an entry that is being claimed because of its place. A block gets its operation, if
    /// the promotion concerns it.
    mutating func promoteClaimed(_ entry: Entry, at place: Int) -> Entry {
        let own = QualityOfServiceState(inferred: Int(entry.rank))
        if entry.isBlock, quality(ofBlock: entry, at: place) == own { return entry }
        let operation = materialize(place)
        operation._withUnsafeGuaranteedRef { operation in
            _ = operation.exchange { state in
                state.qualityEvent { qualities.marks.apply(to: &$0, at: place) }
            }
        }
        return .operation(operation)
    }

    /// Returns the quality of a block, including the promotion of its place.
    func quality(ofBlock block: Entry, at place: Int) -> QualityOfServiceState {
        var quality = QualityOfServiceState(inferred: Int(block.rank))
        _ = qualities.marks.apply(to: &quality, at: place)
        return quality
    }
}
