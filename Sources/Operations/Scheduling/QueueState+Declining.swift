// Operations that only an override of `isReady` holds back. The answer of such an override may
// change without an announcement, so the queue reads it again at its next events.

import OperationsRuntime

extension QueueState {
    /// Records that only an override of `isReady`, which returned false, holds the operation back.
    /// Returns false if that was recorded already or the operation has finished.
    mutating func recordDecline(of operation: Operation) -> Bool {
        let change = operation.exchange { state in
            guard !state.has(.declined), state.phase != .finished else { return nil }
            state.insert(.declined)
            return []
        }
        if change != nil { ready.declined.append(.passRetained(operation)) }
        return change != nil
    }

    /// Takes the operations whose override to read again at this event, retained, in the order in
    /// which they were recorded. An event takes all of them if nothing is executing or ready,
    /// because no event may follow.
    mutating func takeDeclined() -> [Reference] {
        let isLast = singlyClaimedCount == 0 || (slots.taken == 0 && !ready.hasAny)
        let taken = ready.declined.take(isLast: isLast)
        for operation in taken {
            operation._withUnsafeGuaranteedRef { $0.lifecycle.remove(.declined) }
        }
        return taken
    }
}
