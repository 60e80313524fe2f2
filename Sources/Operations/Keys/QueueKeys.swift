/// The operations and limits that a queue finds by keys. An entry is removed when its operations
/// have left the queue.
final class QueueKeys: Sendable {
    /// The operation that later operations with this key join.
    let joined = KeyTable<Operation>()
    /// The operation that the next operation with this key replaces.
    let latest = KeyTable<Operation>()
    let exclusive = KeyTable<KeyLimit>()
    let limited = KeyTable<KeyLimit>()

    /// The budget of a key, and the number of operations that use it. The last of them removes the
    /// entry.
    struct KeyLimit: Sendable {
        let budget: ConcurrencyBudget
        var users: Int
    }

    /// Returns the budget that stands for a key, for one more operation.
    func enter(_ key: OperationKey, in table: KeyTable<KeyLimit>, limit: Int) -> ConcurrencyBudget {
        let new = ConcurrencyBudget(total: limit, name: "\(key)", isOfKey: true)
        let budget = table.change(key) { entry in
            entry = KeyLimit(budget: entry?.budget ?? new, users: (entry?.users ?? 0) + 1)
            return entry?.budget ?? new
        }
        if budget.permits != limit { budget.permits = limit }
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

    /// Returns the operation that others with this key join, if there is one.
    func joinable(_ key: OperationKey) -> Operation? {
        let entry = joined.change(key) { $0 }
        return entry?.canBeJoined == true ? entry : nil
    }

    /// Returns the operation to join instead of adding `operation`. If it is nil, later operations
    /// with this key join `operation`.
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
    /// Whether the operation may still have a result.
    final var canBeJoined: Bool {
        let state = status
        return state.phase != .finished && !state.isStopped
    }
}
