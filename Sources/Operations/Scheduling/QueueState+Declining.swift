// Operations that only an override of `isReady` holds back. The answer of such an override may
// change without an announcement, so the queue reads it again at its next events.

import OperationsRuntime

extension QueueState {
    /// The number of operations whose override one event reads again, unless that event may be the
    /// last one for now.
    private static var askedAtOnce: Int { 64 }

    /// Records that only an override of `isReady`, which returned false, holds the operation back.
    /// Returns false if that was recorded already or the operation has finished.
    mutating func recordDecline(of operation: Operation) -> Bool {
        let change = operation.exchange { state in
            guard !state.has(.declined), state.phase != .finished else { return nil }
            state.insert(.declined)
            return []
        }
        if change != nil { declined.append(.passRetained(operation)) }
        return change != nil
    }

    /// Takes the operations whose override to read again at this event, retained, in the order in
    /// which they were recorded.
    ///
    /// Many operations may wait for an announcement, and each of many events would read the
    /// override of all of them. So each event takes a few operations, in turns. An event takes all
    /// of them if nothing is executing or ready, because no event may follow.
    mutating func takeDeclined() -> [Reference] {
        eventNumber &+= 1
        guard !declined.isEmpty else { return [] }
        let isLast = unbatchableCount == 0 || (running == 0 && !hasReady)
        let count = isLast ? declined.count : min(declined.count, Self.askedAtOnce)
        var taken: [Reference] = []
        for _ in 0..<count {
            guard let operation = declined.popFirst() else { break }
            operation._withUnsafeGuaranteedRef { $0.lifecycle.remove(.declined) }
            taken.append(operation)
        }
        return taken
    }
}
