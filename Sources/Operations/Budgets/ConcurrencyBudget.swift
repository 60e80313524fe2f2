import OperationsRuntime

/// A limited resource for operations of any number of queues: memory, connections, licenses.
///
/// Like a semaphore, a budget has a number of permits, one for each megabyte or license, say.
///
/// ```swift
/// let memory = ConcurrencyBudget(512, name: "megabytes")
/// queue.add(.cost(96, of: memory)) { try decode(picture) }
/// ```
///
/// An operation with a cost starts when enough permits are free, and returns them when an attempt
/// of its work has ended. If there are not enough, the operation waits in line, without a slot of
/// its queue. The line is first come, first served, so that operations which need few permits
/// cannot overtake a larger one for ever. An operation is passed over only while its queue is
/// suspended or full; it asks again when its queue reaches it. An operation that needs permits of
/// several budgets gets all of them at once, and waits in all lines.
///
/// An operation that holds permits and waits for another operation that needs them too would wait
/// for ever. If operations that wait hold so many permits that the rest can never be enough, such a
/// wait stops the program with a message.
public class ConcurrencyBudget: @unchecked Sendable {
    // Unchecked: the lock guards all fields that are not constant.

    /// The lock of all budgets, so that permits of several budgets are taken in one step. Under it
    /// only the fields of budgets and requests and atomic states change.
    static let lock = SpinLock()

    /// The name of the permits in messages.
    public let name: String
    /// Whether the budget stands for a key, and is known by the key instead of a name.
    let isOfKey: Bool

    // Guarded by the lock.
    private var total: Int
    private var greatestTotal: Int
    private var taken = 0
    /// The requests that wait, and that could be granted with the totals of all their budgets.
    private(set) var line = PermitLine()
    /// Requests that wait until this budget has more permits in total. No other request waits for
    /// them.
    private var aside = PermitsAside()
    /// How many requests were moved between the line and the place aside, or looked at for that.
    private(set) var movedCount = 0
    nonisolated(unsafe) private static var lastNumber = 0

    /// Makes a budget.
    ///
    /// - Parameters:
    ///   - permits: how many permits there are; not negative.
    ///   - name: the name of the permits in messages, for example "megabytes".
    public convenience init(_ permits: Int, name: String = "permits") {
        if permits < 0 { misuse("a budget cannot have \(permits) \(name): use 0 or more") }
        self.init(total: permits, name: name, isOfKey: false)
    }

    init(total: Int, name: String, isOfKey: Bool) {
        (self.total, greatestTotal) = (total, total)
        self.name = name
        self.isOfKey = isOfKey
    }

    /// How many permits there are. It can be changed at any time.
    ///
    /// If there are now fewer permits than are in use, running operations keep theirs; the next
    /// operation starts when enough permits have been returned. An operation that costs more
    /// permits than there are waits until there are more, and other operations need not wait for it
    /// meanwhile. 0 is a pause.
    ///
    /// - Precondition: set to 0 or more.
    /// - Complexity: setting is O((k + 1) log n), where n is the number of operations that wait for
    ///   permits, and k is the number of those that can start now, or for which there are enough
    ///   permits in total before or after this, but not both.
    public final var permits: Int {
        get { Self.lock.withLock { total } }
        set {
            if newValue < 0 { misuse("\(label) cannot have \(newValue) permits: use 0 or more") }
            Self.update([self]) { $0.setTotal(newValue) }
        }
    }

    /// How many permits are in use now.
    public final var inUse: Int { Self.lock.withLock { taken } }

    final var label: String { isOfKey ? name : "'\(name)'" }

    /// The largest number of permits that the budget has ever had.
    final var greatestPermits: Int { Self.lock.withLock { greatestTotal } }

    // MARK: With the lock held

    /// - Parameter lane: the lane of the operation's priority, if that decides.
    static func nextTicket(lane: Int) -> PermitTicket {
        lastNumber += 1
        return PermitTicket(number: lastNumber, lane: lane)
    }

    /// Whether the priorities of operations decide in this line.
    var ordersByPriority: Bool { false }

    /// Changes the total. Called in ``update(_:_:)``.
    final func setTotal(_ new: Int) {
        total = new
        greatestTotal = max(greatestTotal, new)
    }

    /// Moves a request that a change of the total has made possible, or impossible. Returns false
    /// if there is none.
    private func moveRequest(_ changed: inout ChangedBudgets) -> Bool {
        guard let request = line.request(above: total) ?? aside.request(upTo: total) else {
            return false
        }
        movedCount += 1
        // The request moves in all of its lines, so other requests may be the first there now.
        if request.reconsider() { for cost in request.costs { changed.insert(cost.budget) } }
        return true
    }

    final func enter(_ request: PermitRequest, ticket: PermitTicket, permits: Int) {
        line.insert(request, ticket, permits: permits)
        lineIsServed()
    }

    final func leave(ticket: PermitTicket) { line.remove(ticket) }

    final func setAside(_ request: PermitRequest, ticket: PermitTicket, permits: Int) {
        aside.insert(request, ticket, permits: permits)
    }

    final func leaveAside(ticket: PermitTicket) { aside.remove(ticket) }

    func acquire(_ permits: Int) { taken += permits }

    /// - Parameter areUsed: whether an attempt has begun with the permits.
    func release(_ permits: Int, areUsed: Bool) { taken -= permits }

    final func canEverGrant(_ permits: Int) -> Bool { permits <= total }

    /// The number of free permits.
    var free: Int { max(0, total - taken) }

    /// Whether so many permits are free, and no possible request waits before this ticket.
    final func canGrant(_ permits: Int, forTicket ticket: PermitTicket) -> Bool {
        permits <= free && line.firstTicket.map { $0 >= ticket } ?? true
    }

    final var firstInLine: PermitRequest? { line.first }

    /// How many permits may be in use while `permits` others are free; nil if it does not matter
    /// how many are in use.
    func mostInUse(beside permits: Int) -> Int? { total - permits }

    /// When so many permits will be free, if only time has to pass: after how long, and whether
    /// that is because the program has said so.
    func wait(for permits: Int) -> RateLimit.Wait? { nil }

    /// Called when the first request in line has changed, or could not be granted.
    func lineIsServed() {}

    /// The numbers of requests that one hold of the lock moves, and grants.
    private static var movesAtOnce: Int { 64 }
    private static var grantsAtOnce: Int { 64 }

    /// Changes budgets, moves the requests for which that makes a difference, and starts what may
    /// start because of that. Called without the lock.
    ///
    /// - Parameters:
    ///   - budgets: so few that one hold of the lock may change all of them.
    ///   - change: called for each budget, with the lock held.
    static func update<Budget: ConcurrencyBudget>(
        _ budgets: some Collection<Budget>, _ change: (Budget) -> Void
    ) {
        var changed = ChangedBudgets()
        var rest: [ConcurrencyBudget]?
        while rest?.isEmpty != true {
            let granted = lock.withLock { () -> GrantedPermits in
                if rest == nil {
                    for budget in budgets {
                        change(budget)
                        changed.insert(budget)
                    }
                }
                var unfinished = rest ?? changed.budgets
                var left = movesAtOnce
                while left > 0, let budget = unfinished.last {
                    if budget.moveRequest(&changed) { left -= 1 } else { unfinished.removeLast() }
                }
                rest = unfinished
                return unfinished.isEmpty
                    ? grantPermits(of: changed.budgets) : GrantedPermits()
            }
            PermitRequest.startGranted(granted)
        }
    }

    /// Grants permits to the waiting requests for which there are enough now, in their order.
    /// Returns these requests, for `startGranted` to start without the lock.
    static func grantPermits(of changed: [ConcurrencyBudget]) -> GrantedPermits {
        var granted: [PermitRequest] = []
        var rest = changed
        while let budget = rest.popLast() {
            while let first = budget.firstInLine, first.tryAcquire() {
                granted.append(first)
                // Other requests may be the first in their lines now.
                for cost in first.costs where cost.budget !== budget { rest.append(cost.budget) }
                if granted.count == grantsAtOnce {
                    return GrantedPermits(requests: granted, unserved: rest + [budget])
                }
            }
            budget.lineIsServed()
        }
        return GrantedPermits(requests: granted)
    }
}

/// What one hold of the lock has granted.
struct GrantedPermits {
    var requests: [PermitRequest] = []
    /// The budgets whose lines were not served to the end, because other threads wait for the lock.
    var unserved: [ConcurrencyBudget] = []

    /// Serves the other lines, too. Returns all requests that were granted. Called without the
    /// lock, and before any of the requests is started: user code that runs then may wait for
    /// another one.
    consuming func completed() -> [PermitRequest] {
        while !unserved.isEmpty {
            let budgets = unserved
            let more = ConcurrencyBudget.lock.withLock {
                ConcurrencyBudget.grantPermits(of: budgets)
            }
            requests += more.requests
            unserved = more.unserved
        }
        return requests
    }
}

/// Budgets in whose lines other requests may be the first now, each once.
private struct ChangedBudgets {
    private(set) var budgets: [ConcurrencyBudget] = []
    private var seen: Set<ObjectIdentifier> = []

    mutating func insert(_ budget: ConcurrencyBudget) {
        if seen.insert(ObjectIdentifier(budget)).inserted { budgets.append(budget) }
    }
}
