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
    /// The requests that wait until a budget has more permits in total. No other request waits for
    /// them.
    private var setAside = PermitLine()
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
    /// - Complexity: setting is O(n log n), where n is the number of operations that wait for
    ///   permits of this budget, and that wait at all. Setting the same number again is O(1).
    public final var permits: Int {
        get { Self.lock.withLock { total } }
        set {
            if newValue < 0 { misuse("\(label) cannot have \(newValue) permits: use 0 or more") }
            let granted = Self.lock.withLock { setTotal(newValue) }
            PermitRequest.startGranted(granted)
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

    /// Changes the total. Returns the requests that get their permits because of that.
    final func setTotal(_ new: Int) -> [PermitRequest] {
        let old = total
        guard new != old else { return [] }
        total = new
        greatestTotal = max(greatestTotal, new)
        // Each request that has become possible, or impossible, moves in all of its lines, so other
        // requests may be the first there now.
        var changed = [self]
        var seen: Set<ObjectIdentifier> = [ObjectIdentifier(self)]
        for request in new < old ? line.elements : setAside.elements where request.reconsider() {
            for cost in request.costs where seen.insert(ObjectIdentifier(cost.budget)).inserted {
                changed.append(cost.budget)
            }
        }
        return Self.grantPermits(of: changed)
    }

    final func enter(_ request: PermitRequest, ticket: PermitTicket, isPossible: Bool) {
        if isPossible {
            line.insert(request, ticket)
            lineIsServed()
        } else {
            setAside.insert(request, ticket)
        }
    }

    final func leave(ticket: PermitTicket, isPossible: Bool) {
        if isPossible { line.remove(ticket) } else { setAside.remove(ticket) }
    }

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

    /// Grants permits to the waiting requests for which there are enough now, in their order.
    /// Returns these requests, for `startGranted` to start without the lock.
    static func grantPermits(of changed: [ConcurrencyBudget]) -> [PermitRequest] {
        var granted: [PermitRequest] = []
        var rest = changed
        while let budget = rest.popLast() {
            while let first = budget.firstInLine, first.tryAcquire() {
                granted.append(first)
                // Other requests may be the first in their lines now.
                for cost in first.costs where cost.budget !== budget { rest.append(cost.budget) }
            }
            budget.lineIsServed()
        }
        return granted
    }
}
