// How urgently a queue is handed to the pool, and what a worker gets that comes with such a reference. See
// Scheduling.md, "Urgency".

extension QueueState {
    /// How urgently the queue must be handed to its executor now; nil if it need not be. One that lies there
    /// already is handed over once more if it has become more urgent.
    @inline(__always)
    mutating func offer() -> Urgency? {
        guard offered.isEmpty || QualityOfServiceUse.isOn, isRunnable else { return nil }
        let urgency = urgency
        return offered.insert(urgency) ? urgency : nil
    }

    /// As urgent as the most urgent that a worker can get now.
    ///
    /// Of those that are cancelled, and of those with the same priority, the first stands for all: what is added
    /// behind an operation promotes it.
    private var urgency: Urgency {
        mutating get {
            guard decidesUrgency else { return .usual }
            var highest = granted.highestUrgency
            if ring.readyCount(OperationRing.cancelledLane) > 0,
                let first = urgency(at: ring.firstReady(OperationRing.cancelledLane))
            {
                highest = max(highest ?? first, first)
            }
            if readyCount > 0, !isSuspended, hasFreeSlot, let first = urgency(at: best()?.place) {
                highest = max(highest ?? first, first)
            }
            return highest ?? .usual
        }
    }

    /// Whether anybody looks at qualities where this queue runs.
    private var decidesUrgency: Bool {
        guard QualityOfServiceUse.isOn, case .workers = executor else { return false }
        return true
    }

    private func urgency(at place: Int?) -> Urgency? {
        place.flatMap { ring[$0] }.map { urgency(of: $0) }
    }

    func urgency(of operation: Operation) -> Urgency {
        QualityOfServiceUse.isOn ? quality(of: operation).urgency : .usual
    }

    func urgency(of operation: Reference) -> Urgency {
        operation._withUnsafeGuaranteedRef { urgency(of: $0) }
    }

    /// An operation has become more urgent that may have been granted its units.
    mutating func raiseGranted(_ operation: Operation) {
        guard !granted.isEmpty else { return }
        granted.raise(.passUnretained(operation), to: urgency(of: operation))
    }

    /// Work for a worker that counts, in the pool, as one that runs something so urgent: nothing less urgent,
    /// which would take a place that belongs to others. That comes with a reference of its own.
    mutating func claim(_ batch: Batch, atLeast urgency: Urgency, cores: Int) -> Work {
        // Elsewhere nobody counts.
        let least = decidesUrgency ? urgency : .background
        return claimCancelled(batch) ?? claimGranted(atLeast: least)
            ?? claimReady(batch, atLeast: least, cores: cores) ?? .none
    }

    /// Whether an operation that is about to be claimed is urgent enough.
    ///
    /// It changes nothing. A method that does not say `mutating` would be given a copy of the whole state, made
    /// before the first comparison, on the path of every operation.
    @inline(__always)
    mutating func isUrgent(_ operation: Reference, atLeast urgency: Urgency) -> Bool {
        urgency == .background || comparesUrgency(of: operation, to: urgency)
    }

    @inline(never)
    private mutating func comparesUrgency(of operation: Reference, to least: Urgency) -> Bool {
        urgency(of: operation) >= least
    }
}
