// Operations that nothing but an override of `isReady` holds back. The answer of such an override may change
// without an announcement, so the queue asks for it again at its next events.

extension QueueState {
    /// How many operations one event takes, unless it may be the last one for now.
    private static var askedAtOnce: Int { 64 }

    /// An override of `isReady` has said no, and nothing else holds the operation back. False if that was known.
    mutating func recordHesitation(of operation: Operation) -> Bool {
        let change = operation.update { word in
            guard !word.has(.hesitates), word.phase != .finished else { return false }
            word.insert(.hesitates)
            return true
        }
        if change != nil { hesitating.append(.passRetained(operation)) }
        return change != nil
    }

    /// The operations to be asked again at this event, retained, in the order in which they came here.
    ///
    /// Many operations may wait for an announcement, and each of many events would ask them all. So an event
    /// takes a few, in turns. It takes all if nothing is at work or ready, for no event may follow.
    mutating func takeHesitating() -> [Reference] {
        eventNumber &+= 1
        guard !hesitating.isEmpty else { return [] }
        let isLast = unbatchableCount == 0 || (running == 0 && readyCount == 0)
        let count = isLast ? hesitating.count : min(hesitating.count, Self.askedAtOnce)
        var taken: [Reference] = []
        for _ in 0..<count {
            guard let operation = hesitating.popFirst() else { break }
            operation._withUnsafeGuaranteedRef { operation in
                _ = operation.update { word in
                    word.remove(.hesitates)
                    return true
                }
            }
            taken.append(operation)
        }
        return taken
    }
}
