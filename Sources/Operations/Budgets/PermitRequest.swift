/// What one operation needs of budgets, and whether it has it.
///
/// Unchecked: guarded by the lock of all budgets, but for what is constant.
final class PermitRequest: @unchecked Sendable {
    struct Cost: Sendable {
        let budget: ConcurrencyBudget
        var units: Int
    }

    private enum Stage {
        case idle
        case inLine
        /// It has its units.
        case served
        /// The operation is over; nothing leads out.
        case ended
    }

    /// Each budget once.
    let costs: [Cost]
    private weak let operation: Operation?
    private var stage = Stage.idle
    /// 0 if none is drawn.
    private var ticket = 0

    init(_ costs: [Cost], for operation: Operation) {
        var merged: [Cost] = []
        for cost in costs where cost.units > 0 {
            if let index = merged.firstIndex(where: { $0.budget === cost.budget }) {
                // Several limits by one key are one.
                guard !cost.budget.isOfKey else { continue }
                // No budget has more than `Int.max`, so a sum beyond it is refused like any other that is too
                // large.
                let (sum, overflow) = merged[index].units.addingReportingOverflow(cost.units)
                merged[index].units = overflow ? .max : sum
            } else {
                merged.append(cost)
            }
        }
        self.costs = merged
        self.operation = operation
    }

    // MARK: With the lock held

    /// Whether the budgets have so many units at all.
    var isPossible: Bool { costs.allSatisfy { $0.budget.canEver($0.units) } }

    /// Takes all units, if it is its turn and there are enough; otherwise none.
    func takes() -> Bool {
        guard costs.allSatisfy({ $0.budget.has($0.units, forTicket: ticket) }) else { return false }
        leaveLines()
        for cost in costs { cost.budget.take(cost.units) }
        stage = .served
        return true
    }

    private func leaveLines() {
        guard stage == .inLine else { return }
        for cost in costs { cost.budget.leave(ticket: ticket) }
        stage = .idle
    }

    private func settle() -> [PermitRequest] { ConcurrencyBudget.settle(costs.map(\.budget)) }

    // MARK: Events

    /// Takes the units for an operation that its queue, whose lock is held, wants to start. False if it has
    /// to wait: then it is in line.
    ///
    /// - Parameter refuse: moves the operation to those that wait; false if that is not possible, because it
    ///   is about to leave and needs no units.
    func ask(refuse: () -> Bool) -> Bool {
        ConcurrencyBudget.lock.withLock {
            guard stage == .idle else { return true }
            if ticket == 0 { ticket = ConcurrencyBudget.nextTicket() }
            if takes() { return true }
            guard refuse() else { return true }
            for cost in costs { cost.budget.enter(self, ticket: ticket) }
            stage = .inLine
            return false
        }
    }

    /// Gives back what it has.
    ///
    /// - Parameter keepsTicket: whether the operation has not begun, and keeps its place in the order.
    func giveBack(keepsTicket: Bool) {
        Self.handOut(returned(keepsTicket: keepsTicket))
    }

    private func returned(keepsTicket: Bool) -> [PermitRequest] {
        ConcurrencyBudget.lock.withLock {
            guard stage == .served else { return [] }
            stage = .idle
            if !keepsTicket { ticket = 0 }
            for cost in costs { cost.budget.giveBack(cost.units) }
            return settle()
        }
    }

    /// The operation is over: it leaves its lines, and gives back what it has. To be followed by
    /// ``serveOthers()``, when its slot is free.
    func end() {
        ConcurrencyBudget.lock.withLock {
            leaveLines()
            if stage == .served { for cost in costs { cost.budget.giveBack(cost.units) } }
            stage = .ended
        }
    }

    /// Gives to others what this one has given back, or its place in line.
    func serveOthers() {
        Self.handOut(ConcurrencyBudget.lock.withLock { settle() })
    }

    /// Whether it has its units.
    var isServed: Bool { ConcurrencyBudget.lock.withLock { stage == .served } }

    /// Brings those who were given their units to their queues. Who cannot be started now gives them back,
    /// which may be for others.
    static func handOut(_ granted: [PermitRequest]) {
        var rest = granted
        var next = 0
        while next < rest.count {
            let claim = rest[next]
            next += 1
            // If there is none, it has ended, and given back what it had.
            guard let operation = claim.operation, !operation.takeGrantedSlot() else { continue }
            rest += claim.returned(keepsTicket: true)
            operation.releaseHold()
        }
    }

    // MARK: For those who look

    struct Need {
        let budget: ConcurrencyBudget
        /// It cannot start while others hold more of its units.
        let mostHeldByOthers: Int
        /// The first in line, if that is another one.
        let before: Operation?
    }

    /// What it needs to start; nil if it has it. Empty if there would have to be more units for that, which
    /// somebody may change.
    var needs: [Need]? {
        ConcurrencyBudget.lock.withLock {
            guard stage == .idle || stage == .inLine else { return nil }
            guard isPossible else { return [] }
            return costs.map { cost in
                let first = stage == .inLine ? cost.budget.firstPossible : nil
                return Need(
                    budget: cost.budget, mostHeldByOthers: cost.budget.most(beside: cost.units),
                    before: first === self ? nil : first?.operation)
            }
        }
    }

    /// How many units of a budget it has.
    func held(of budget: ConcurrencyBudget) -> Int {
        ConcurrencyBudget.lock.withLock {
            stage == .served ? costs.first { $0.budget === budget }?.units ?? 0 : 0
        }
    }

    struct Shortage: Sendable {
        let units: Int
        let budget: ConcurrencyBudget
        let free: Int
        let before: Int
    }

    /// Where it is in line, and for want of what.
    var shortages: [Shortage] {
        ConcurrencyBudget.lock.withLock {
            guard stage == .inLine else { return [] }
            let all = costs.map { cost in
                let (free, before) = cost.budget.look(ticket: ticket)
                return Shortage(
                    units: cost.units, budget: cost.budget, free: free, before: before)
            }
            // The others are not what it waits for.
            return all.filter { $0.free < $0.units || $0.before > 0 }
        }
    }
}

extension Operation {
    /// It was given its units; false if its queue cannot start it now.
    fileprivate func takeGrantedSlot() -> Bool {
        guard let queue = retainedQueue() else { return false }
        defer { if status.has(.observed) { notifyObservers() } }
        if queue.isWatched { queue.recordPermits(for: self) }
        return queue.eventOffering { $0.grant(self) }
    }

    /// Nothing holds it back any more but its dependencies, and what it says itself.
    func releaseHold() {
        guard let change = update({ $0.released() }) else { return }
        makeReady(after: change)
        if change.after.has(.observed) { notifyObservers() }
    }

    /// Why it cannot be added.
    func checkCosts() throws(OperationMisuse) {
        guard let plan = attemptController?.plan else { return }
        for cost in PermitRequest(plan.costs, for: self).costs {
            let units = cost.budget.greatestUnits
            guard cost.units > units else { continue }
            throw .cost(cost.units, of: cost.budget.label, units: units, by: self)
        }
    }

    /// Whether its queue, which has claimed it together with its units, was suspended since.
    func hasToGoBack(in queue: OperationQueue) -> Bool {
        guard let claim = attemptController?.claim else { return false }
        // A cancelled one needs no units, and no queue that is not suspended, unless it runs users' code.
        let word = status
        if word.isStopped {
            return needsSlotToLeave(word) && queue.snapshot { $0.isSuspended }
        }
        return !claim.isServed || queue.snapshot { $0.isSuspended }
    }
}
