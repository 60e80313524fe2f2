/// Something of which there is only so much, for operations of any number of queues: memory, connections,
/// licences.
///
/// ```swift
/// let memory = ConcurrencyBudget(512, name: "megabytes")
/// queue.add(.cost(96, of: memory)) { try decode(picture) }
/// ```
///
/// An operation that costs units starts when there are enough of them, and gives them back when an attempt of
/// its work has ended. One for which there are not enough waits in line, without a slot of its queue: first
/// come, first served, so that one that needs many is not overtaken for ever by others that need few. It is
/// passed over only while its queue is suspended or full, and asks again when its queue comes to it.
/// An operation that needs units of several budgets gets all of them at once, and waits in all lines.
///
/// An operation that has units and waits for another one that needs them too would wait for ever: such a wait stops
/// the program with a sentence, if so many units are held inside of waits that the rest can never be enough.
public final class ConcurrencyBudget: @unchecked Sendable {
    // Unchecked: guarded by `lock`, but for what is constant.

    /// Of all budgets, so that units of several are taken in one step. Nothing but words changes under it.
    static let lock = SpinLock()

    /// What messages call the units.
    public let name: String
    /// Whether it stands for a key: then it is not known by its name.
    let isOfKey: Bool

    // Guarded by the lock.
    private var total: Int
    private var greatestTotal: Int
    private var taken = 0
    private var line = PermitQueue<PermitRequest>()
    nonisolated(unsafe) private static var lastTicket = 0

    /// Makes a budget.
    ///
    /// - Parameters:
    ///   - units: how many there are; not negative.
    ///   - name: what messages call them, for example "megabytes".
    public init(_ units: Int, name: String = "units") {
        if units < 0 { misuse("a budget cannot have \(units) \(name): use 0 or more") }
        (total, greatestTotal) = (units, units)
        self.name = name
        isOfKey = false
    }

    init(limit: Int, key: String) {
        (total, greatestTotal) = (limit, limit)
        name = key
        isOfKey = true
    }

    /// How many units there are. It can be changed at any time.
    ///
    /// With fewer units than are in use nothing is taken from those that run; the next starts when enough
    /// have been given back. An operation that costs more than there are waits until there are more,
    /// and others need not wait for it meanwhile.
    ///
    /// - Precondition: set to 0 or more.
    public var units: Int {
        get { Self.lock.withLock { total } }
        set {
            if newValue < 0 { misuse("\(label) cannot have \(newValue) units: use 0 or more") }
            let granted = Self.lock.withLock {
                total = newValue
                greatestTotal = max(greatestTotal, newValue)
                // Who has become possible, or impossible, may stand in other lines too.
                var changed = [self]
                line.forEach { changed += $0.costs.map(\.budget) }
                return Self.settle(changed)
            }
            PermitRequest.handOut(granted)
        }
    }

    /// How many units are in use now.
    public var inUse: Int { Self.lock.withLock { taken } }

    var label: String { isOfKey ? name : "'\(name)'" }

    /// The most that it has ever had.
    var greatestUnits: Int { Self.lock.withLock { greatestTotal } }

    // MARK: With the lock held

    static func nextTicket() -> Int {
        lastTicket += 1
        return lastTicket
    }

    func enter(_ claim: PermitRequest, ticket: Int) { line.insert(claim, ticket: ticket) }
    func leave(ticket: Int) { line.remove(ticket: ticket) }
    func take(_ units: Int) { taken += units }
    func giveBack(_ units: Int) { taken -= units }

    func canEver(_ units: Int) -> Bool { units <= total }

    /// Whether there are so many units, and nobody is before the one with this ticket.
    func has(_ units: Int, forTicket ticket: Int) -> Bool {
        guard units <= total - taken else { return false }
        if line.isEmpty { return true }
        return line.first { $0.isPossible }.map { $0.ticket >= ticket } ?? true
    }

    var firstPossible: PermitRequest? { line.first { $0.isPossible }?.member }

    /// How many units may be in use for so many others to be free.
    func most(beside units: Int) -> Int { total - units }

    /// What an operation in line is told.
    func look(ticket: Int) -> (free: Int, before: Int) {
        (max(0, total - taken), line.count(before: ticket))
    }

    /// Gives units to those in line for whom there are enough now, in their order; returns them, to be brought
    /// on without the lock.
    static func settle(_ changed: [ConcurrencyBudget]) -> [PermitRequest] {
        var granted: [PermitRequest] = []
        var rest = changed
        while let budget = rest.popLast() {
            while let first = budget.line.first(where: { $0.isPossible })?.member, first.takes() {
                granted.append(first)
                // Others may be the first in their lines now.
                for cost in first.costs where cost.budget !== budget { rest.append(cost.budget) }
            }
        }
        return granted
    }
}
