/// The requests that wait for permits of a budget, in the order of their tickets.
///
/// A member in the middle can leave at any time: its entry stays empty until the entries before it
/// are gone.
struct PermitQueue<Member> {
    private struct Place {
        let ticket: Int
        var member: Member?
    }

    private var places: [Place] = []
    private var head = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// - Complexity: O(1) for a ticket higher than all in the queue, otherwise O(n).
    mutating func insert(_ member: Member, ticket: Int) {
        let index =
            places.last.map { $0.ticket < ticket } ?? true ? places.count : place(of: ticket)
        places.insert(Place(ticket: ticket, member: member), at: index)
        count += 1
    }

    /// - Complexity: O(log n), amortised.
    mutating func remove(ticket: Int) {
        let index = place(of: ticket)
        guard index < places.count, places[index].ticket == ticket, places[index].member != nil
        else { return }
        places[index].member = nil
        count -= 1
        while head < places.count, places[head].member == nil { head += 1 }
        guard places.count > 32, count * 2 < places.count else { return }
        places.removeAll { $0.member == nil }
        head = 0
    }

    /// The first member for which `condition` holds.
    func first(where condition: (Member) -> Bool) -> (ticket: Int, member: Member)? {
        for place in places[head...] {
            if let member = place.member, condition(member) { return (place.ticket, member) }
        }
        return nil
    }

    func forEach(_ body: (Member) -> Void) {
        for place in places[head...] { place.member.map(body) }
    }

    /// The number of members before this ticket.
    func count(before ticket: Int) -> Int {
        places[head...].prefix { $0.ticket < ticket }.count { $0.member != nil }
    }

    /// The index of the first entry whose ticket is not lower.
    private func place(of ticket: Int) -> Int {
        var (low, high) = (head, places.count)
        while low < high {
            let middle = (low + high) / 2
            if places[middle].ticket < ticket { low = middle + 1 } else { high = middle }
        }
        return low
    }
}
