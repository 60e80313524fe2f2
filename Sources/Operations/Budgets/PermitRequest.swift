/// The permits (units of budgets) that one operation needs, and whether it holds them.
///
/// Unchecked: the lock of all budgets guards all fields that are not constant.
final class PermitRequest: @unchecked Sendable {
    struct Cost: Sendable {
        let budget: ConcurrencyBudget
        var units: Int
    }

    private enum Stage {
        case idle
        case inLine
        /// The operation holds its permits.
        case served
        /// The operation has finished; no other stage follows.
        case ended
    }

    /// The permit costs, with each budget once.
    let costs: [Cost]
    private weak let operation: Operation?
    private var stage = Stage.idle
    /// The position in the order of all requests; 0 if no ticket is drawn.
    private var ticket = 0

    init(_ costs: [Cost], for operation: Operation) {
        var merged: [Cost] = []
        for cost in costs where cost.units > 0 {
            if let index = merged.firstIndex(where: { $0.budget === cost.budget }) {
                // Several limits by one key count as one.
                guard !cost.budget.isOfKey else { continue }
                // No budget has more than `Int.max` units, so a sum beyond it is refused like any
                // other that is too large.
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

    /// Whether the budgets have so many units in total.
    var isPossible: Bool { costs.allSatisfy { $0.budget.canEver($0.units) } }

    /// Takes all permits, if this request is next and there are enough; otherwise takes none.
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

    /// Takes the permits for an operation that its queue, whose lock is held, wants to start.
    /// Returns false if the operation has to wait: then the request is in line.
    ///
    /// - Parameter refuse: puts the operation back into the phase *waiting*; returns false if that
    ///   is not possible, because the operation is about to leave and needs no permits.
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

    /// Returns the permits of the operation.
    ///
    /// - Parameter keepsTicket: whether the operation has not begun, and keeps its position in the
    ///   order.
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

    /// Leaves all lines and returns the permits; the operation has finished. Call ``serveOthers()``
    /// next, when the operation's slot is free.
    func end() {
        ConcurrencyBudget.lock.withLock {
            leaveLines()
            if stage == .served { for cost in costs { cost.budget.giveBack(cost.units) } }
            stage = .ended
        }
    }

    /// Grants to other requests the permits, or the position in line, that this request has given
    /// up.
    func serveOthers() {
        Self.handOut(ConcurrencyBudget.lock.withLock { settle() })
    }

    /// Whether the operation holds its permits.
    var isServed: Bool { ConcurrencyBudget.lock.withLock { stage == .served } }

    /// Brings operations whose requests were granted to their queues. An operation that cannot
    /// start now returns its permits, which may be granted to other requests.
    static func handOut(_ granted: [PermitRequest]) {
        var rest = granted
        var next = 0
        while next < rest.count {
            let claim = rest[next]
            next += 1
            // Without an operation, the request has ended and returned its permits.
            guard let operation = claim.operation, !operation.takeGrantedSlot() else { continue }
            rest += claim.returned(keepsTicket: true)
            operation.releaseHold()
        }
    }

    // MARK: Inspection

    struct Need {
        let budget: ConcurrencyBudget
        /// The operation cannot start while others hold more units of the budget than this.
        let mostHeldByOthers: Int
        /// The first operation in line, if that is another one.
        let before: Operation?
    }

    /// The permits that the operation needs to start; nil if it holds them. Empty if a budget would
    /// first have to be given more units, which the program may do.
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

    /// The number of units of a budget that the operation holds.
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

    /// The budgets that keep the operation waiting, and its position in their lines.
    var shortages: [Shortage] {
        ConcurrencyBudget.lock.withLock {
            guard stage == .inLine else { return [] }
            let all = costs.map { cost in
                let (free, before) = cost.budget.look(ticket: ticket)
                return Shortage(
                    units: cost.units, budget: cost.budget, free: free, before: before)
            }
            // The other budgets do not keep the operation waiting.
            return all.filter { $0.free < $0.units || $0.before > 0 }
        }
    }
}

extension Operation {
    /// Claims the operation, which was granted its permits; returns false if its queue cannot start
    /// it now.
    fileprivate func takeGrantedSlot() -> Bool {
        guard let queue = retainedQueue() else { return false }
        defer { if status.has(.observed) { notifyObservers() } }
        if queue.isWatched { queue.recordPermits(for: self) }
        return queue.eventOffering { $0.grant(self) }
    }

    /// Releases the hold. From here on only dependencies, and an override of `isReady`, can hold
    /// the operation back.
    func releaseHold() { transition { $0.released() } }

    /// Throws if the operation costs more units than a budget has ever had.
    func checkCosts() throws(OperationMisuse) {
        guard let plan = attemptController?.plan else { return }
        for cost in PermitRequest(plan.costs, for: self).costs {
            let units = cost.budget.greatestUnits
            guard cost.units > units else { continue }
            throw .cost(cost.units, of: cost.budget.label, units: units, by: self)
        }
    }

    /// Whether the operation, claimed together with its permits, must go back: its queue was
    /// suspended since, or it no longer holds the permits.
    func hasToGoBack(in queue: OperationQueue) -> Bool {
        guard let claim = attemptController?.claim else { return false }
        // A cancelled operation needs no permits. It may leave a suspended queue, unless it runs
        // code of users.
        let state = status
        if state.isStopped {
            return needsSlotToLeave(state) && queue.snapshot { $0.isSuspended }
        }
        return !claim.isServed || queue.snapshot { $0.isSuspended }
    }
}
