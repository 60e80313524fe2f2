import OperationsRuntime

/// The operations and limits that a queue finds by keys. An entry is removed when its operations
/// have left the queue, and one that knows of a time to come some time after that.
final class QueueKeys: Sendable {
    /// The operation that later operations with this key join.
    let joined = KeyTable<Operation>()
    /// The operation that the next operation with this key replaces.
    let latest = KeyTable<Operation>()
    /// The operation that waits for a pause of its key, and since when operations of the key have
    /// been put off.
    let debounced = KeyTable<(operation: TimedOperation, since: Duration)>()
    /// The operation of a key that started last, or that waits for its turn, and when the turn
    /// after it comes.
    let throttled = KeyTable<(operation: TimedOperation, next: Duration)>()
    private let throttledCrowd = Locked(Crowd())
    /// The groups that take turns, for as long as the queue's state knows of them.
    private let groups = KeyTable<Group>()
    private let groupCrowd = Locked(Crowd())
    let exclusive = KeyTable<KeyLimit>()
    let limited = KeyTable<KeyLimit>()

    /// Unchecked: the value of the table never changes; `weak` requires a variable.
    private struct Group: @unchecked Sendable {
        weak var group: ShareGroup?
    }

    /// The budget of a key, and the number of operations that use it. The last of them removes the
    /// entry.
    struct KeyLimit: Sendable {
        let budget: ConcurrencyBudget
        var users: Int
    }

    /// An operation that starts at a time which its key determines. Times are on the time axis of
    /// the queue.
    struct TimedOperation: Sendable {
        /// Nil once the operation has left the queue.
        var operation: Operation?
        /// When the operation is due.
        let due: Duration

        /// Whether the operation waits for its time.
        func isWaiting(at now: Duration) -> Bool {
            now < due && operation?.canBeJoined == true
        }
    }

    /// Makes the operation the one that waits for a pause of its key. Returns the delay.
    func debounce(
        _ operation: Operation, _ plan: OperationOptions.Debounce, now: Duration
    ) -> Duration {
        let (old, isWaiting, delay) = debounced.change(plan.key) {
            entry -> (Operation?, Bool, Duration) in
            let old = entry
            let isWaiting = old?.operation.isWaiting(at: now) == true
            let start = isWaiting ? old?.since ?? now : now
            let delay = min(plan.pause, plan.longest.map { start + $0 - now } ?? plan.pause)
            entry = (TimedOperation(operation: operation, due: now + delay), start)
            return (old?.operation.operation, isWaiting, delay)
        }
        if isWaiting { operation.takePlace(of: old) }
        return delay
    }

    /// Gives the operation its turn among those of its key. Returns the delay.
    func throttle(
        _ operation: Operation, _ plan: OperationOptions.Throttle, now: Duration
    ) -> Duration {
        let (last, isWaiting, due) = throttled.change(plan.key) { entry in
            let last = entry
            var due = now
            // If nothing takes the turn that is to come, this operation does.
            if let last {
                due = now < last.operation.due ? last.operation.due : max(now, last.next)
            }
            entry = (TimedOperation(operation: operation, due: due), due + plan.interval)
            return (last, last?.operation.isWaiting(at: now) == true, due)
        }
        if isWaiting { operation.takePlace(of: last?.operation.operation) }
        if last == nil, throttledCrowd.withLock({ $0.keyWasAdded() }) {
            throttled.removeAll { $0.operation.operation == nil && $0.next <= now }
            let count = throttled.count
            throttledCrowd.withLock { $0.wasSearched(leaving: count) }
        }
        return due - now
    }

    /// Returns the group with this key.
    func group(_ key: OperationKey) -> ShareGroup {
        let new = ShareGroup("\(key)")
        let (group, isNewKey) = groups.change(key) { entry in
            if let group = entry?.group { return (group, false) }
            defer { entry = Group(group: new) }
            return (new, entry == nil)
        }
        if isNewKey, groupCrowd.withLock({ $0.keyWasAdded() }) {
            groups.removeAll { $0.group == nil }
            let count = groups.count
            groupCrowd.withLock { $0.wasSearched(leaving: count) }
        }
        return group
    }

    /// Forgets an operation that waits for a pause no longer.
    func leavePause(_ key: OperationKey, _ operation: Operation) {
        let left = debounced.change(key) { entry -> Operation? in
            guard let left = entry?.operation.operation, left === operation else { return nil }
            entry = nil
            return left
        }
        withExtendedLifetime(left) {}
    }

    /// Forgets an operation that has left the queue, and not when its key has its next turn.
    func leaveTurn(_ key: OperationKey, _ operation: Operation) {
        let left = throttled.change(key) { entry -> Operation? in
            guard entry?.operation.operation === operation else { return nil }
            return entry?.operation.operation.take()
        }
        withExtendedLifetime(left) {}
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
