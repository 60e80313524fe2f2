/// What a queue knows by keys. Entries go when their operations have left the queue.
final class QueueKeys: Sendable {
    /// The operation that others with this key join.
    let joined = KeyTable<Operation>()
    /// The operation that the next with this key replaces.
    let latest = KeyTable<Operation>()
    let exclusive = KeyTable<KeyLimit>()
    let limited = KeyTable<KeyLimit>()

    /// How many have to do with a key, which goes with the last of them.
    struct KeyLimit: Sendable {
        let budget: ConcurrencyBudget
        var users: Int
    }

    /// The budget that stands for a key, for one more operation.
    func enter(_ key: OperationKey, in table: KeyTable<KeyLimit>, limit: Int) -> ConcurrencyBudget {
        let new = ConcurrencyBudget(limit: limit, key: "\(key)")
        let budget = table.change(key) { entry in
            entry = KeyLimit(budget: entry?.budget ?? new, users: (entry?.users ?? 0) + 1)
            return entry?.budget ?? new
        }
        if budget.units != limit { budget.units = limit }
        return budget
    }

    func leave(_ key: OperationKey, in table: KeyTable<KeyLimit>) {
        table.change(key) { entry in
            entry?.users -= 1
            if entry?.users == 0 { entry = nil }
        }
    }

    func forget(_ key: OperationKey, in table: KeyTable<Operation>, of operation: Operation) {
        let forgotten = table.change(key) { entry -> Operation? in
            guard entry === operation else { return nil }
            defer { entry = nil }
            return entry
        }
        withExtendedLifetime(forgotten) {}
    }

    /// The operation that others with this key join, if there is one.
    func joinable(_ key: OperationKey) -> Operation? {
        let entry = joined.change(key) { $0 }
        return entry?.canBeJoined == true ? entry : nil
    }

    /// The operation to join instead of adding this one; nil if there is none, and from now on it is this
    /// one that others join.
    func join(_ key: OperationKey, with operation: Operation) -> Operation? {
        let (other, replaced) = joined.change(key) { entry -> (Operation?, Operation?) in
            if let other = entry, other.canBeJoined {
                return (other === operation ? nil : other, nil)
            }
            defer { entry = operation }
            return (nil, entry)
        }
        withExtendedLifetime(replaced) {}
        return other
    }
}

extension Operation {
    /// Whether it may still come to a result.
    fileprivate var canBeJoined: Bool {
        let word = status
        return word.phase != .finished && !word.isStopped
    }
}
