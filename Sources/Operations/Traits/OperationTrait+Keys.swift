extension OperationTrait {
    /// Not added if one with the same key is under way in the queue: then `add` returns that one.
    ///
    /// Under way is what has not finished and was not cancelled. The one that is returned keeps its own name,
    /// traits and body. An operation that is added by itself, and could join another, is cancelled
    /// (``CancellationReason/duplicate(of:)``): there is nothing to return.
    ///
    /// - Precondition: operations of one key have the same type of result. A different one stops the program.
    public static func deduplicated(by key: some Hashable & Sendable) -> OperationTrait {
        let key = OperationKey(key)
        return OperationTrait { $0.joinedKey = key }
    }

    /// Cancels the unfinished operation with the same key in the queue (``CancellationReason/replaced(by:)``),
    /// so that the latest wins.
    public static func coalesced(by key: some Hashable & Sendable) -> OperationTrait {
        let key = OperationKey(key)
        return OperationTrait { $0.latestKey = key }
    }

    /// One at a time of those with the same key in the queue, in the order in which it comes to them.
    ///
    /// An operation that waits for its turn takes no slot.
    public static func exclusive(by key: some Hashable & Sendable) -> OperationTrait {
        let limit = OperationOptions.Limit(key: OperationKey(key), count: 1, isExclusive: true)
        return OperationTrait { $0.limits.append(limit) }
    }

    /// So many at a time of those with the same key in the queue, in the order in which it comes to them.
    ///
    /// As ``exclusive(by:)``, whose keys are others than these. If operations name different limits for one
    /// key, that of the last one added counts for all.
    ///
    /// - Parameters:
    ///   - count: at least 1.
    ///   - key: what the operations have in common, a host for example.
    public static func limited(
        to count: Int, by key: some Hashable & Sendable
    ) -> OperationTrait {
        if count < 1 {
            misuse("operations with the key \(key) cannot be limited to \(count): use 1 or more")
        }
        let limit = OperationOptions.Limit(key: OperationKey(key), count: count, isExclusive: false)
        return OperationTrait { $0.limits.append(limit) }
    }

    /// How many units of a budget the operation uses while it runs; see ``ConcurrencyBudget``.
    ///
    /// Costs of several budgets, and several costs of one, add up.
    ///
    /// - Parameters:
    ///   - units: not negative.
    ///   - budget: shared by operations of whatever queues.
    /// - Precondition: when the operation is added, the budget has, or once had, so many units. Otherwise the
    ///   operation could never start: this stops the program.
    public static func cost(_ units: Int, of budget: ConcurrencyBudget) -> OperationTrait {
        if units < 0 {
            misuse("an operation cannot cost \(units) of \(budget.label): use 0 or more")
        }
        return OperationTrait { $0.costs.append(PermitRequest.Cost(budget: budget, units: units)) }
    }
}
