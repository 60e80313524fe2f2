import Synchronization

extension OperationQueue {
    /// Whether threads are changed for its operations: the main thread, and threads that others lend, are
    /// not ours to change.
    var changesThreads: Bool { runsOnWorkers.load(ordering: .relaxed) }

    func setQualityRank(_ rank: Int) {
        QualityOfServiceUse.begins(rank: rank)
        Operation.perform(eventOffering { $0.qualityChanged(to: rank) })
    }

    /// Something at the operation's place has that rank now; those before it are promoted.
    ///
    /// - Returns: what the caller has to promote.
    func promoteAhead(of operation: Operation, to rank: Int) -> [Promotion] {
        eventOffering { state in
            guard operation.status.phase != .finished else { return [] }
            state.promoteAhead(of: operation.place, to: rank)
            state.raiseGranted(operation)
            return state.takePromotions() ?? []
        }
    }

    /// The calling thread is about to wait for all of them.
    func promoteAllForWait() {
        promoteAll(to: Operation.rankOfWaitingThread)
    }

    func promoteAll(byWaitOf operation: Operation) {
        promoteAll(to: operation.effectiveQualityRank)
    }

    private func promoteAll(to rank: Int) {
        guard rank > 0 else { return }
        let promotions = eventOffering { state in
            state.promoteAhead(of: state.ring.tail, to: rank)
            return state.takePromotions() ?? []
        }
        Operation.perform(promotions)
    }

    /// Makes the thread that runs a plain operation of this queue less nice.
    func renice(for operation: Operation, to niceness: Int32) {
        event { $0.renice(for: operation, to: niceness) }
    }
}

extension QueueState {
    /// What a place gives to the operation in it, and what it has itself.
    func quality(of operation: Operation) -> QualityOfServiceState {
        let word = operation.status
        var quality = word.quality
        if word.phase != .finished { _ = qualityMarks.apply(to: &quality, at: operation.place) }
        return quality
    }

    // MARK: Promotions

    mutating func takePromotions() -> [Promotion]? {
        if promotions == nil { return nil }
        defer { promotions = nil }
        return promotions
    }

    /// The operation at `place` has that rank: those before it get no less.
    @inline(__always)
    mutating func promoteAhead(of place: Int, to rank: Int) {
        guard rank > 0, !ignoresQuality else { return }
        let newly = qualityMarks.raise(before: place, to: rank)
        if !newly.isEmpty, QualityOfServiceUse.isOn { promote(newly, to: rank) }
    }

    /// The queue's own quality is another one.
    mutating func qualityChanged(to rank: Int) -> [Promotion] {
        guard !ignoresQuality else { return [] }
        qualityRank = rank
        guard rank > 0 else { return [] }
        qualityMarks.raiseByQueue(before: ring.tail, to: rank)
        promote(ring.head..<ring.tail, to: rank)
        return takePromotions() ?? []
    }

    /// Finds those for which it is not enough to be promoted when they are claimed: they have been, and
    /// may be running, or they wait for others, which have to be promoted too.
    ///
    /// - Complexity: O(places). No place is looked at twice for the same rank.
    @inline(never)
    private mutating func promote(_ places: Range<Int>, to rank: Int) {
        var found: [Promotion] = []
        for place in max(places.lowerBound, ring.head)..<max(places.upperBound, ring.head) {
            guard let operation = ring[place]?.takeUnretainedValue() else { continue }
            let word = operation.status
            guard word.quality.effectiveRank < rank, word.phase != .finished,
                word.unfinishedDependencies > 0 || !ring.isReady(place, lane: word.lane)
            else { continue }
            found.append(Promotion(operation: operation, rank: rank))
        }
        guard !found.isEmpty else { return }
        promotions = (promotions ?? []) + found
        // What lies in batches was claimed without knowing.
        recallBatches()
    }

    // MARK: Claiming

    /// Whether claimed operations have to be promoted for their place.
    var hasPromotedPlaces: Bool {
        QualityOfServiceUse.isOn && qualityMarks.end > ring.head
    }

    func promoteClaimed(_ operation: Unmanaged<Operation>, at place: Int) {
        operation._withUnsafeGuaranteedRef { operation in
            _ = operation.update { word in
                word.qualityEvent { qualityMarks.apply(to: &$0, at: place) }
            }
        }
    }

    // MARK: Running

    mutating func renice(for operation: Operation, to niceness: Int32) {
        let reference = Unmanaged.passUnretained(operation).toOpaque()
        for batch in batches where batch.taken.last?.toOpaque() == reference {
            // Folding the batch takes the lock that we hold, so the thread is still at it, or has just
            // gone on to the next: then it comes to look after that.
            guard operation.status.phase == .executing, let thread = batch.thread,
                thread.favour(with: niceness)
            else { continue }
            batch.wasReniced = true
            recallBatches()
        }
    }
}
