// Operations that need units of budgets: with a slot they get the units, and with the units a slot. See
// Scheduling.md, "Attempts, time and units".

extension QueueState {
    /// So many are refused in one hold of the lock.
    static var refusalsAtOnce: Int { 64 }

    /// Takes the units that an operation needs which is about to be claimed; if there are not enough, it
    /// goes back to those that wait, and is in line.
    func hasUnits(_ operation: Reference) -> Bool {
        operation._withUnsafeGuaranteedRef { operation in
            guard let claim = operation.attemptController?.claim else { return true }
            return claim.ask { operation.update { $0.permitsRefused() } != nil }
        }
    }

    /// The operation was to start next, and waits for units: in a strict order no other is next meanwhile.
    mutating func holdsBackRest(_ operation: Reference) {
        fifoCursor = operation._withUnsafeGuaranteedRef { min(fifoCursor, $0.place) }
    }

    func retainedIfObserved(_ operation: Reference) -> Reference? {
        let isObserved = operation._withUnsafeGuaranteedRef { $0.status.has(.observed) }
        return isObserved ? operation.retain() : nil
    }

    /// Claims an operation that has been given its units; false if it cannot be started now.
    mutating func grant(_ operation: Operation) -> Bool {
        guard !isSuspended, hasFreeSlot, firstStrictly(before: operation.place) == nil,
            operation.update({ $0.permitsGranted() }) != nil
        else { return false }
        running += 1
        granted.append(.passRetained(operation), urgency(of: operation))
        return true
    }

    mutating func claimGranted(atLeast urgency: Urgency) -> Work? {
        granted.popFirst(atLeast: urgency).map { .single($0) }
    }
}
