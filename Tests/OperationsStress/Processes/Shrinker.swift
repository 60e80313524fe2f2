import OperationsRuntime

/// Looks for a smaller plan that fails in the same way.
///
/// Whether a plan fails is a matter of chance. So each attempt runs a plan again and again, for a
/// time that depends on how long the whole plan took to fail.
struct Shrinker {
    let session: Session
    let failure: Failure
    /// When the search ends, in nanoseconds of the monotonic clock.
    let end: UInt64
    private(set) var attempts = 0
    /// A plan that has made a round hang may be said to hang early: that leaves time for more
    /// attempts.
    private let patience = 0.2

    init(_ session: Session, _ failure: Failure, seconds: Double) {
        (self.session, self.failure) = (session, failure)
        end = monotonicNanoseconds() + UInt64(seconds * 1e9)
    }

    private var isOver: Bool { monotonicNanoseconds() >= end }

    /// Returns the smallest plan found; nil if the plan did not fail again.
    mutating func shrink(_ plan: Plan) throws -> Plan? {
        guard let first = try fails(plan, within: 15) else { return nil }
        let budget = min(10, max(0.5, first * 4))
        var smallest = plan
        var size = max(1, smallest.steps.count / 2)
        while !isOver {
            let before = smallest
            var index = 0
            while index < smallest.steps.count, !isOver {
                let smaller = smallest.removing(index..<(index + size))
                if try fails(smaller, within: budget) != nil {
                    smallest = smaller
                } else {
                    index += size
                }
            }
            if size == 1 {
                for simpler in smallest.simpler where !isOver {
                    guard let simpler = simpler(smallest) else { continue }
                    if try fails(simpler, within: budget) != nil { smallest = simpler }
                }
                if smallest == before { break }
            }
            size = max(1, size / 2)
        }
        return smallest
    }

    /// Returns after how many seconds a plan fails; nil if it does not in this time.
    private mutating func fails(_ plan: Plan, within seconds: Double) throws -> Double? {
        attempts += 1
        let found = try session.run(
            plan: plan, repeating: true, seconds: seconds, patience: patience
        ).failure
        guard let found, found.manner == failure.manner else { return nil }
        return found.seconds
    }
}

extension Plan {
    /// The plan without some of its steps, which are counted through all threads.
    fileprivate func removing(_ range: Range<Int>) -> Plan {
        var plan = self
        var index = 0
        plan.threads = threads.map { steps in
            steps.filter { _ in
                defer { index += 1 }
                return !range.contains(index)
            }
        }.filter { !$0.isEmpty }
        return plan
    }

    /// Changes that make a plan simpler; each returns nil if it would change nothing.
    fileprivate var simpler: [(Plan) -> Plan?] {
        var changes: [(inout Plan) -> Void] = [
            { $0.counts = false }, { $0.effort = 0 }, { $0.endsQuietly = false },
            { $0.suspends = false },
            { plan in plan.queues.indices.forEach { plan.queues[$0].order = 0 } },
            { plan in plan.queues.indices.forEach { plan.queues[$0].capacity = nil } },
            { plan in plan.queues.indices.forEach { plan.queues[$0].quality = nil } },
            { plan in plan.queues.indices.forEach { plan.queues[$0].usesDispatch = false } },
        ]
        for thread in threads.indices {
            for index in threads[thread].indices {
                changes += [
                    { $0.threads[thread][index].count = 1 },
                    { $0.threads[thread][index].count /= 2 },
                    { $0.threads[thread][index].hops = 0 },
                    { $0.threads[thread][index].priority = 2 },
                    { $0.threads[thread][index].quality = nil },
                ]
            }
        }
        return changes.map { change in
            { plan in
                var changed = plan
                change(&changed)
                return changed == plan || changed.steps.contains { $0.count == 0 } ? nil : changed
            }
        }
    }
}
