import OperationsRuntime

/// The permits of budgets that one operation needs, and whether it holds them.
///
/// Unchecked: the lock of all budgets guards all fields that are not constant.
final class PermitRequest: @unchecked Sendable {
    struct Cost: Sendable {
        let budget: ConcurrencyBudget
        var permits: Int
    }

    private enum Stage {
        case idle
        /// The request waits in the lines of its budgets.
        case inLine
        /// The request waits until this budget has more permits in total.
        case setAside(ConcurrencyBudget)
        /// The operation holds its permits.
        case granted
        /// The operation has finished; no other stage follows.
        case ended
    }

    /// The permit costs, with each budget once.
    let costs: [Cost]
    private weak var operation: Operation?
    private var stage = Stage.idle
    /// The position in the order of all requests; nil if no ticket is drawn.
    private var drawnTicket: PermitTicket?
    /// Whether an attempt has begun with the permits.
    private var isUsed = false
    /// Whether permits of some budget come back with time, and not when an attempt has ended.
    private let hasTokens: Bool
    /// When the operation was last refused its permits, as `recordTime()`.
    private var refusal: UInt64 = 0

    init(_ costs: [Cost], for operation: Operation) {
        var merged: [Cost] = []
        for cost in costs where cost.permits > 0 {
            if let index = merged.firstIndex(where: { $0.budget === cost.budget }) {
                // Several limits by one key count as one.
                guard !cost.budget.isOfKey else { continue }
                // No budget has more than `Int.max` permits, so a sum beyond it is refused like any
                // other that is too large.
                let (sum, overflow) = merged[index].permits.addingReportingOverflow(cost.permits)
                merged[index].permits = overflow ? .max : sum
            } else {
                merged.append(cost)
            }
        }
        self.costs = merged
        self.operation = operation
        hasTokens = merged.contains { $0.budget.ordersByPriority }
    }

    /// The lane in which the request waits: that of the operation's priority, if the request needs
    /// tokens.
    private var lane: Int { (hasTokens ? operation?.status.lane : nil) ?? PriorityLanes.normal }

    private var ticket: PermitTicket {
        if let drawnTicket { return drawnTicket }
        let new = ConcurrencyBudget.nextTicket(lane: lane)
        drawnTicket = new
        return new
    }

    // MARK: With the lock held

    /// Whether the budgets have so many permits in total.
    var isPossible: Bool { costs.allSatisfy { $0.budget.canEverGrant($0.permits) } }

    /// Whether this request is next in all lines, and there are enough permits.
    var canAcquire: Bool {
        costs.allSatisfy { $0.budget.canGrant($0.permits, forTicket: ticket) }
    }

    /// Takes all permits, if this request is next and there are enough; otherwise takes none.
    func tryAcquire() -> Bool {
        guard canAcquire else { return false }
        leaveLines()
        for cost in costs { cost.budget.acquire(cost.permits) }
        stage = .granted
        return true
    }

    private var isInLine: Bool { if case .inLine = stage { true } else { false } }

    private var isWaiting: Bool {
        switch stage {
        case .inLine, .setAside: true
        case .idle, .granted, .ended: false
        }
    }

    private var isIdle: Bool { if case .idle = stage { true } else { false } }

    private var holdsPermits: Bool { if case .granted = stage { true } else { false } }

    private func enterLines() {
        if let cost = costs.first(where: { !$0.budget.canEverGrant($0.permits) }) {
            stage = .setAside(cost.budget)
            return cost.budget.setAside(self, ticket: ticket, permits: cost.permits)
        }
        stage = .inLine
        for cost in costs { cost.budget.enter(self, ticket: ticket, permits: cost.permits) }
    }

    private func leaveLines() {
        switch stage {
        case .inLine: for cost in costs { cost.budget.leave(ticket: ticket) }
        case .setAside(let budget): budget.leaveAside(ticket: ticket)
        case .idle, .granted, .ended: return
        }
        stage = .idle
    }

    /// Moves the waiting request, because the total of a budget has made it possible, or
    /// impossible. It may then wait for the total of another budget. Returns whether it has entered
    /// or left its lines.
    func reconsider() -> Bool {
        let wasInLine = isInLine
        leaveLines()
        enterLines()
        return isInLine != wasInLine
    }

    private func releaseAll() {
        for cost in costs { cost.budget.release(cost.permits, areUsed: isUsed) }
        isUsed = false
    }

    private func grantPermits() -> GrantedPermits {
        ConcurrencyBudget.grantPermits(of: costs.map(\.budget))
    }

    // MARK: Events

    /// Takes the permits for an operation that its queue, whose lock is held, wants to start.
    /// Returns false if the operation has to wait: then the request is in line.
    ///
    /// - Parameter refuse: puts the operation back into the phase *waiting*; returns false if that
    ///   is not possible, because the operation is about to leave and needs no permits.
    func acquireOrEnqueue(refuse: () -> Bool) -> Bool {
        ConcurrencyBudget.lock.withLock {
            guard isIdle else { return true }
            if tryAcquire() { return true }
            guard refuse() else { return true }
            refusal = recordTime()
            enterLines()
            return false
        }
    }

    /// Moves the request behind the others of the operation's priority, which has changed.
    ///
    /// The priority is read with the lock held. Of several threads that change the priority, the
    /// last one here reads the last priority.
    func priorityChanged() {
        guard hasTokens else { return }
        let granted = ConcurrencyBudget.lock.withLock { () -> GrantedPermits in
            guard let drawnTicket, drawnTicket.lane != lane else { return GrantedPermits() }
            let wasWaiting = isWaiting
            leaveLines()
            self.drawnTicket = nil
            guard wasWaiting else { return GrantedPermits() }
            enterLines()
            // Other requests, or this one, may be the first in their lines now.
            return grantPermits()
        }
        Self.startGranted(granted)
    }

    /// Records that an attempt of the operation begins, with the permits that it holds.
    func attemptBegan() {
        guard hasTokens else { return }
        ConcurrencyBudget.lock.withLock { isUsed = holdsPermits }
    }

    /// Releases the permits of the operation.
    ///
    /// - Parameter keepsTicket: whether the operation has not begun, and keeps its position in the
    ///   order.
    func release(keepsTicket: Bool) {
        Self.startGranted(releasePermits(keepsTicket: keepsTicket))
    }

    private func releasePermits(keepsTicket: Bool) -> GrantedPermits {
        ConcurrencyBudget.lock.withLock {
            guard holdsPermits else { return GrantedPermits() }
            stage = .idle
            if !keepsTicket { drawnTicket = nil }
            releaseAll()
            return grantPermits()
        }
    }

    /// Leaves all permit queues and releases the permits; the operation has finished. Call
    /// ``grantOthers()`` next, when the operation's slot is free.
    func end() {
        ConcurrencyBudget.lock.withLock {
            leaveLines()
            if holdsPermits { releaseAll() }
            stage = .ended
        }
    }

    /// Grants to other requests the permits, or the position in the permit queues, that this
    /// request has released.
    func grantOthers() {
        Self.startGranted(ConcurrencyBudget.lock.withLock { grantPermits() })
    }

    /// Whether the operation holds its permits.
    var isGranted: Bool { ConcurrencyBudget.lock.withLock { holdsPermits } }

    /// Makes the queues of operations whose requests were granted start these operations. An
    /// operation that cannot start now releases its permits, which may be granted to other
    /// requests.
    static func startGranted(_ granted: GrantedPermits) {
        var rest = granted.completed()
        var next = 0
        while next < rest.count {
            let request = rest[next]
            next += 1
            // Without an operation, the request has ended and released its permits.
            guard let operation = request.operation,
                !operation.grantClaim(
                    refusedAt: request.refusal, areTokens: request.hasTokens)
            else { continue }
            rest += request.releasePermits(keepsTicket: true).completed()
            operation.releaseHold()
        }
    }

    // MARK: Inspection

    /// What the operation needs of one budget.
    struct Need {
        let budget: ConcurrencyBudget
        let permits: Int
        let free: Int
        /// The number of requests in line before this one.
        let ahead: Int
        /// Whether the request waits, and for this budget.
        let isShort: Bool
        /// The operation cannot start while others hold more permits of the budget than this; nil
        /// if a budget would first have to be given more permits, which the program may do.
        let mostHeldByOthers: Int?
        /// The first operation in line, if that is another one.
        let first: Operation?
        /// How long it takes until there are enough, if only time has to pass.
        let wait: RateLimit.Wait?
    }

    /// How many permits of a budget the request needs. Called with the lock held.
    func permits(of budget: ConcurrencyBudget) -> Int {
        costs.first { $0.budget === budget }?.permits ?? 0
    }

    /// What the operation needs to start; nothing if it holds its permits.
    var needs: [Need] {
        ConcurrencyBudget.lock.withLock {
            guard isIdle || isWaiting else { return [] }
            let isPossible = isPossible
            return costs.map { cost in
                let free = cost.budget.free
                let ahead = drawnTicket.map { cost.budget.line.count(before: $0) } ?? 0
                let first = isInLine ? cost.budget.firstInLine : nil
                return Need(
                    budget: cost.budget, permits: cost.permits, free: free, ahead: ahead,
                    isShort: isWaiting && (free < cost.permits || ahead > 0),
                    mostHeldByOthers: isPossible
                        ? cost.budget.mostInUse(beside: cost.permits) : nil,
                    first: first === self ? nil : first?.operation,
                    wait: cost.budget.wait(for: cost.permits))
            }
        }
    }

    /// Returns how many permits of a budget each operation holds, all at one moment: together they
    /// are not more than the budget has given away.
    static func permits(of budget: ConcurrencyBudget, heldBy requests: [PermitRequest]) -> [Int] {
        ConcurrencyBudget.lock.withLock {
            requests.map { request in
                guard request.holdsPermits else { return 0 }
                return request.costs.first { $0.budget === budget }?.permits ?? 0
            }
        }
    }
}
