// How urgent a queue is when it is handed to the pool, and what a worker gets that comes with such
// a reference. See Urgency.md.

import OperationsRuntime

extension QueueState {
    /// Returns how urgently the queue must be handed to its executor now; nil if it need not be. A
    /// queue that the executor holds already is handed over once more if it has become more urgent.
    ///
    /// Cancelled operations have only to leave, so they wait for no processor: for them the queue
    /// is handed over as an epilogue, once more if the executor holds it already.
    @inline(__always)
    mutating func offer() -> Urgency? {
        guard qualities.offered.isEmpty || qualities.areInUse || hasCancelled, isRunnable
        else { return nil }
        let urgency = urgency
        return qualities.offered.insert(urgency) ? urgency : nil
    }

    /// The highest urgency among the operations that a worker can get now.
    ///
    /// Among operations of the same priority, the first stands for all. An operation that is added
    /// behind another one promotes it.
    private var urgency: Urgency {
        mutating get {
            if hasCancelled, case .workers = executor { return .epilogue }
            guard decidesUrgency else { return .usual }
            var highest = ready.admitted.highestUrgency
            if slots.mayBegin, let first = ready.sources.highestUrgency {
                highest = max(highest ?? first, first)
            }
            if ready.count > 0, slots.mayBegin, let first = urgency(at: best()?.place) {
                highest = max(highest ?? first, first)
            }
            return highest ?? .usual
        }
    }

    /// Whether qualities of service matter where this queue runs.
    private var decidesUrgency: Bool {
        guard qualities.areInUse, case .workers = executor else { return false }
        return true
    }

    private func urgency(at place: Int?) -> Urgency? {
        guard let place, let entry = ring[place] else { return nil }
        return urgency(of: entry, at: place)
    }

    private func urgency(of entry: Entry, at place: Int) -> Urgency {
        if let operation = entry.operation { return urgency(of: operation) }
        return quality(ofBlock: entry, at: place).urgency
    }

    func urgency(of operation: Operation) -> Urgency {
        qualities.areInUse ? quality(of: operation).urgency : .usual
    }

    func urgency(of operation: Reference) -> Urgency {
        operation._withUnsafeGuaranteedRef { urgency(of: $0) }
    }

    /// Makes workers of the new urgency run a promoted operation that was claimed and has not
    /// begun.
    mutating func raiseClaimed(_ operation: Operation) {
        guard qualities.areInUse else { return }
        let state = operation.status
        if state.phase == .queued, !isAmongReady(operation.place, lane: state.lane) {
            slots.recall()
        }
        guard !ready.admitted.isEmpty else { return }
        ready.admitted.raise(.passUnretained(operation), to: urgency(of: operation))
    }

    /// Claims work for a worker that the pool counts as running something of this urgency.
    ///
    /// Claims nothing less urgent, which would take a place that belongs to more urgent work, and
    /// nothing more urgent, for which the niceness of the worker is too high. Such work comes with
    /// a reference of its own.
    mutating func claim(_ claim: Claim, offered urgency: Urgency, cores: Int) -> Work {
        // More workers may run epilogues than there are processors, so they take nothing else.
        if urgency == .epilogue { return claimCancelled(claim) ?? .none }
        let decides = decidesUrgency
        // The worker came for an operation that has left, or comes back after it. Nothing here is
        // of that urgency now.
        if !decides, urgency != .usual { return claimCancelled(claim) ?? .none }
        // The threads of other executors have no urgency.
        let urgency = decides ? urgency : nil
        return claimCancelled(claim) ?? claimAdmitted(urgency)
            ?? claimFromSource(claim, urgency, cores: cores)
            ?? claimReady(claim, urgency, cores: cores) ?? .none
    }

    #if DEBUG
    /// Checks, for an executor that has got nothing, that the queue is not offered to it again as
    /// it is: the executor would get nothing for ever. See "Runnable means that somebody runs it"
    /// in Urgency.md.
    ///
    /// Another thread may raise the quality of an operation at any moment. Then the executor gets
    /// that operation here, or the queue is offered with another urgency. An operation that was
    /// refused its permits is not ready any more.
    mutating func claimAgain(_ claim: Claim, offered urgency: Urgency, cores: Int) -> Work {
        for _ in 0..<16 {
            guard isRunnable, self.urgency == urgency else { return .none }
            let count = ready.count
            let work = self.claim(claim, offered: urgency, cores: cores)
            guard case .none = work, ready.count == count else { return work }
        }
        fatalError(
            """
            unreachable: a queue has something to run, and an executor that it was offered to, and \
            that got nothing. Report this as a fault of the library.
            """)
    }
    #endif

    /// Whether an operation that is about to be claimed has this urgency; true if `urgency` is nil.
    ///
    /// The method changes nothing. Without `mutating` it would be given a copy of the whole state,
    /// made before the first comparison, on the path of every operation.
    @inline(__always)
    mutating func matches(_ entry: Entry, at place: Int, _ urgency: Urgency?) -> Bool {
        guard let urgency else { return true }
        return comparesUrgency(of: entry, at: place, to: urgency)
    }

    @inline(never)
    private mutating func comparesUrgency(
        of entry: Entry, at place: Int, to other: Urgency
    ) -> Bool {
        urgency(of: entry, at: place) == other
    }
}
