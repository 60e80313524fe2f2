// The effects of an operation's keys when it is added, and when it has finished.

extension OperationQueue {
    /// The operations and limits that the queue finds by keys; made when first needed.
    final var keys: QueueKeys { attachment { QueueKeys() } }
}

extension Operation {
    /// Enters the operation's keys. The operation has its slot in a queue, and is in the phase
    /// *checkingReadiness* on the caller's behalf.
    final func enter(_ keys: QueueKeys, _ plan: OperationOptions) {
        if let key = plan.joinedKey, let other = keys.join(key, with: self) {
            return forceCancel(because: .duplicate(of: other.label))
        }
        if let key = plan.latestKey {
            let previous = keys.latest.change(key) { entry -> Operation? in
                defer { entry = self }
                return entry
            }
            takePlace(of: previous)
        }
    }

    /// Enters the keys that determine when the operation starts. Returns the delay; nil if there
    /// are none.
    final func enterTimes(_ keys: QueueKeys, _ plan: OperationOptions, now: Duration) -> Duration? {
        let delays = [
            plan.debounce.map { keys.debounce(self, $0, now: now) },
            plan.throttle.map { keys.throttle(self, $0, now: now) },
        ]
        return delays.compactMap { $0 }.max()
    }

    /// Cancels another operation because this one does its work.
    final func takePlace(of previous: Operation?) {
        guard let previous, previous !== self else { return }
        previous.cancel(because: .replaced(by: label))
    }

    final func leave(_ keys: QueueKeys, _ plan: OperationOptions) {
        if let key = plan.debounce?.key { keys.leavePause(key, self) }
        if let key = plan.throttle?.key { keys.leaveTurn(key, self) }
        if let key = plan.joinedKey { keys.forget(key, in: keys.joined, of: self) }
        if let key = plan.latestKey { keys.forget(key, in: keys.latest, of: self) }
        for limit in plan.limits { keys.leave(limit.key, in: keys.table(of: limit)) }
    }
}

extension QueueKeys {
    func table(of limit: OperationOptions.Limit) -> KeyTable<KeyLimit> {
        limit.isExclusive ? exclusive : limited
    }

    /// Enters the keys of the operation's limits, and returns the permit costs that stand for them.
    func costs(of plan: OperationOptions) -> [PermitRequest.Cost] {
        plan.limits.map { limit in
            let budget = enter(limit.key, in: table(of: limit), limit: limit.count)
            return PermitRequest.Cost(budget: budget, permits: 1)
        }
    }
}
