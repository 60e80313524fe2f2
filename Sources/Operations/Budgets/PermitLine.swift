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

/// Requests in the order of their tickets. Most lines need one lane.
struct PermitLine {
    private var lanes: [(lane: Int, list: TicketList<PermitRequest>)] = []

    /// The first lane that has requests.
    private var firstLane: (lane: Int, list: TicketList<PermitRequest>)? {
        lanes.first { !$0.list.isEmpty }
    }

    var first: PermitRequest? { firstLane?.list.first }

    var firstTicket: PermitTicket? {
        firstLane.flatMap { lane, list in
            list.firstTicket.map { PermitTicket(number: $0, lane: lane) }
        }
    }

    var elements: [PermitRequest] { lanes.flatMap { $0.list.elements } }

    /// - Complexity: O(1) for a number higher than all before of its lane, otherwise O(n).
    mutating func insert(_ request: PermitRequest, _ ticket: PermitTicket) {
        let index = lanes.firstIndex { $0.lane <= ticket.lane } ?? lanes.count
        if index == lanes.count || lanes[index].lane != ticket.lane {
            lanes.insert((ticket.lane, TicketList()), at: index)
        }
        lanes[index].list.insert(request, ticket: ticket.number)
    }

    mutating func remove(_ ticket: PermitTicket) {
        guard let index = lanes.firstIndex(where: { $0.lane == ticket.lane }) else { return }
        lanes[index].list.remove(ticket.number)
    }

    func count(before ticket: PermitTicket) -> Int {
        lanes.reduce(0) { sum, lane in
            if lane.lane > ticket.lane { return sum + lane.list.count }
            return lane.lane == ticket.lane ? sum + lane.list.count(before: ticket.number) : sum
        }
    }
}
