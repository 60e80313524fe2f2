import OperationsRuntime

/// The position of a request in the order of all requests: first by priority, where that decides,
/// then by number.
struct PermitTicket: Comparable, Sendable {
    let number: Int
    /// The lane of the priority; that of the normal priority where priorities do not decide.
    let lane: Int

    static func < (a: PermitTicket, b: PermitTicket) -> Bool {
        a.lane == b.lane ? a.number < b.number : a.lane > b.lane
    }
}

/// Requests in the order of their tickets, of which the one that needs the most permits is known.
struct PermitLine {
    private typealias Order = Heap<PermitTicket, PermitRequest>
    private typealias Sizes = Heap<Int, PermitRequest>

    private var order = Order()
    /// By the number of permits, the most first.
    private var sizes = Sizes()
    /// Where each request is, by the number of its ticket.
    private var places: [Int: (order: Order.Ticket, size: Sizes.Ticket)] = [:]

    var first: PermitRequest? { order.first }
    var firstTicket: PermitTicket? { order.firstKey }

    /// - Complexity: O(log n).
    mutating func insert(_ request: PermitRequest, _ ticket: PermitTicket, permits: Int) {
        places[ticket.number] = (
            order.insert(request, at: ticket), sizes.insert(request, at: -permits)
        )
    }

    /// - Complexity: O(log n).
    mutating func remove(_ ticket: PermitTicket) {
        guard let place = places.removeValue(forKey: ticket.number) else { return }
        order.remove(place.order)
        sizes.remove(place.size)
    }

    /// A request that needs more permits than this; nil if there is none.
    func request(above permits: Int) -> PermitRequest? {
        guard let most = sizes.firstKey, most < -permits else { return nil }
        return sizes.first
    }

    /// - Complexity: O(the result).
    func count(before ticket: PermitTicket) -> Int { order.count(below: ticket) }
}

/// Requests that need more permits of a budget than it has in total. They are in no line.
struct PermitsAside {
    private typealias Sizes = Heap<Int, PermitRequest>

    /// By the number of permits.
    private var sizes = Sizes()
    private var places: [Int: Sizes.Ticket] = [:]

    mutating func insert(_ request: PermitRequest, _ ticket: PermitTicket, permits: Int) {
        places[ticket.number] = sizes.insert(request, at: permits)
    }

    mutating func remove(_ ticket: PermitTicket) {
        if let place = places.removeValue(forKey: ticket.number) { sizes.remove(place) }
    }

    /// A request that needs no more permits than this; nil if there is none.
    func request(upTo permits: Int) -> PermitRequest? {
        guard let least = sizes.firstKey, least <= permits else { return nil }
        return sizes.first
    }
}
