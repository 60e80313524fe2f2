import Synchronization

// Orders other than the default one; see OrderOfClaims.md.

extension QueueState {
    /// Returns the time of the queue's clock, in nanoseconds.
    func now() -> Int64 { clock?() ?? Int64(truncatingIfNeeded: monotonicNanoseconds()) }

    /// The last place from which an operation may start.
    private var limit: Int {
        let barrier = barrierPlace
        return barrier == .max || barrier == ring.head ? barrier : barrier - 1
    }

    /// Whether one claim may take several operations, which then run one after the other, with no
    /// operation between them that would have gone first.
    var mayBatch: Bool {
        // The monitor thread does not watch a dispatch queue's thread, where the rest of a batch
        // could get stuck.
        if case .dispatch = executor { return false }
        return (usesDefaultOrder || (isStrict && width == 1)) && !room.isUsed
            && !rescheduled.hasDeadlines
    }

    // MARK: Ready lists

    // Code that few operations need is kept out of line, so that the path of every operation stays
    // small.

    /// Takes over the deadline of an operation that was added.
    @inline(never)
    mutating func takeOver(_ operation: Operation, at place: Int) {
        rescheduled.setDeadline(operation.deadline, at: place)
    }

    /// Puts a ready operation where it belongs if that may not be its lane.
    @inline(never)
    mutating func fileOutOfOrder(_ place: Int, word: LifecycleState) {
        if ageing != nil {
            age(place, word: word, since: now())
        } else if word.has(.rescheduled) {
            rescheduled.setReady(place, lane: word.lane)
            // The operation may go before others of its lane.
            if rescheduled.hasDeadlines, word.lane >= lowestBatchedLane { recallBatches() }
        } else {
            ring.setReady(place, lane: word.lane)
        }
    }

    private mutating func age(_ place: Int, word: LifecycleState, since time: Int64) {
        // The ticket puts the operation behind all that were rescheduled to go before this place.
        var turn = SortKey(number: place, ticket: .max)
        if word.has(.rescheduled), let own = rescheduled.turn(of: place) { turn = own }
        if order == .lifo { turn.number = -place }
        let limit = limit
        ageing?.insert(place, lane: word.lane, turn: turn, time: time, limit: limit)
    }

    /// Removes a ready operation that is not in its lane. Returns false if it is not there.
    @inline(never)
    mutating func clearOutOfOrder(_ place: Int, lane: Int) -> Bool {
        if ageing != nil { return ageing?.remove(place) != nil }
        return !rescheduled.isEmpty && rescheduled.clearReady(place, lane: lane)
    }

    private func isAmongReady(_ place: Int, lane: Int) -> Bool {
        ring.isReady(place, lane: lane) || rescheduled.isReady(place)
    }

    /// Updates the stored places after the ring has moved its operations.
    @inline(never)
    mutating func renumber(_ places: Renumbering) {
        if !rescheduled.isEmpty { rescheduled.renumber(places) }
        let isReversed = order == .lifo
        ageing?.renumber(places, isReversed: isReversed)
        fifoCursor = places.first(from: fifoCursor)
    }

    // MARK: Claiming

    @inline(never)
    mutating func bestInOrder() -> (place: Int, lane: Int)? {
        if isStrict { return bestStrictly() }
        guard ageing != nil else { return bestOfLast() }
        let (now, limit) = (now(), limit)
        return ageing?.best(now: now, upTo: limit)
    }

    private mutating func bestOfLast() -> (place: Int, lane: Int)? {
        let limit = limit
        for lane in (0..<Operation.QueuePriority.count).reversed() {
            let place = ring.readyCount(lane) > 0 ? ring.lastReady(lane, upTo: limit) : nil
            if !rescheduled.isEmpty, let first = rescheduled.first(lane, upTo: limit),
                first.turn.isBefore(place.map { -$0 } ?? .max)
            {
                return (first.place, lane)
            }
            if let place { return (place, lane) }
        }
        return nil
    }

    private mutating func bestStrictly() -> (place: Int, lane: Int)? {
        fifoCursor = max(fifoCursor, ring.head)
        while fifoCursor < ring.tail {
            if let operation = ring[fifoCursor], !isPast(operation) {
                let word = operation._withUnsafeGuaranteedRef { $0.status }
                guard word.phase == .queued, isAmongReady(fifoCursor, lane: word.lane),
                    isEligible(fifoCursor, limit: barrierPlace)
                else { return nil }
                return (fifoCursor, word.lane)
            }
            fifoCursor += 1
        }
        return nil
    }

    /// Whether an operation does not hold back those behind it in a strict order, because it is
    /// cancelled or claimed.
    private func isPast(_ operation: Reference) -> Bool {
        let (word, place, leavesAtOnce) = operation._withUnsafeGuaranteedRef { operation in
            let word = operation.status
            let leavesAtOnce = word.has(.cancelled) && !operation.needsSlotToLeave(word)
            return (word, operation.place, leavesAtOnce)
        }
        switch word.phase {
        case .starting, .executing, .finished: return true
        case .created, .waiting, .checkingReadiness: return leavesAtOnce
        case .queued:
            if leavesAtOnce || word.has(.claimedAlone) { return true }
            if isAmongReady(place, lane: word.lane) { return false }
            // Unless a batch has taken the operation, it is on its way to the ready list.
            return batches.contains { batch in
                batch.taken.contains { $0.toOpaque() == operation.toOpaque() }
            }
        }
    }

    /// Returns the first operation that a strict order wants to start before the one at `place`;
    /// nil if that one is next.
    ///
    /// - Complexity: O(n).
    func firstStrictly(before place: Int) -> Operation? {
        guard isStrict, place > ring.head else { return nil }
        for earlier in ring.head..<place {
            if let operation = ring[earlier], !isPast(operation) {
                return operation.takeUnretainedValue()
            }
        }
        return nil
    }

    // MARK: Changes

    /// Changes the order and the ageing span.
    ///
    /// - Complexity: O(n log n).
    mutating func arrange(order: OperationQueueOrder, ageingSpan span: Int64?) {
        guard order != self.order || span != ageingSpan else { return }
        giveBackAll()
        var ready: [Int] = []
        var times: [Int: Int64] = [:]
        for (place, time) in ageing?.all ?? [] {
            ready.append(place)
            times[place] = time
        }
        for place in ring.head..<ring.tail {
            guard let operation = ring[place] else { continue }
            let word = operation._withUnsafeGuaranteedRef { $0.status }
            if clear(place, word: word), times[place] == nil { ready.append(place) }
        }
        (self.order, ageingSpan) = (order, span)
        rescheduled = rescheduled.ordered(isReversed: order == .lifo)
        isStrict = order == .fifo
        ageing = isStrict ? nil : span.map { AgeingOperations(span: $0) }
        usesDefaultOrder = order == .priority && ageing == nil
        fifoCursor = ring.head
        for place in ready {
            ring[place]?._withUnsafeGuaranteedRef { operation in
                let word = operation.status
                if let time = times[place], ageing != nil, word.isReady, !word.isCancelled {
                    age(place, word: word, since: time)
                    readyCount += 1
                } else {
                    file(operation, place: place)
                }
            }
        }
        recallBatches()
    }

    /// Takes back the operations that workers have claimed and not begun.
    mutating func giveBackAll() {
        for batch in batches { giveBackRest(of: batch) }
    }

    /// Gives an unfinished operation of the queue a deadline.
    mutating func setDeadline(_ deadline: Int64, of operation: Operation) {
        operation.existingExtras?.deadline.store(deadline, ordering: .relaxed)
        let (place, word) = (operation.place, operation.status)
        guard word.phase != .starting, word.phase != .executing else { return }
        operation.lifecycle.insert(.rescheduled)
        if ageing != nil {
            rescheduled.setDeadline(deadline, at: place)
            ageing?.setDeadline(deadline, at: place)
            return
        }
        let wasReady = clear(place, word: word)
        rescheduled.setDeadline(deadline, at: place)
        if wasReady {
            file(operation)
        } else if word.phase == .queued {
            // A batch may hold the operation.
            recallBatches()
        }
    }
}
