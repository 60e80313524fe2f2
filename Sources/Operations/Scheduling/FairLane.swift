import OperationsRuntime

/// A group of operations, which takes turns with the other groups of its queue.
final class ShareGroup: Sendable {
    /// The group of operations that were given none.
    static let none = ShareGroup("")

    /// The key of the group, as messages show it.
    let label: String

    init(_ label: String) { self.label = label }
}

/// The group of an operation, and how much the operation takes of the group's turn.
struct Share {
    var group = ShareGroup.none
    var weight = 1
}

/// The ready operations of one priority, in the order in which groups take turns. Pure.
///
/// This is start-time fair queueing (P. Goyal, H. M. Vin and H. Cheng, 1997), with one unit of work
/// for each operation. Each group has a start, on an axis of its own for the lane. The group with
/// the least start goes next, and its start then rises by the unit divided by the weight of the
/// operation. The time of the lane is the highest start at which any group has had its turn. A
/// group that comes, or comes back, starts at that time: it can save up no turns. But if it has had
/// turns in advance of the others, its start is kept until the time has come to it: it can gain
/// none either by going away.
struct FairLane {
    /// How far an operation of weight 1 moves the start of its group: so far that the greatest
    /// weights still differ. The starts have so many bits that they never overflow.
    static let unit: Int64 = 1 << 62

    /// The turn of a group: first by the step of its first operation, which is the level in an
    /// order with aging.
    private struct Turn: Comparable {
        let start: Int128
        let first: SortKey

        static func < (a: Turn, b: Turn) -> Bool {
            if a.first.step != b.first.step { return a.first.step < b.first.step }
            return a.start == b.start ? a.first < b.first : a.start < b.start
        }
    }

    private typealias ID = ObjectIdentifier

    private struct Member {
        /// Kept, so that no other group gets its identity.
        let group: ShareGroup
        var start: Int128
        var ready = Heap<SortKey, Int>()
        /// Among `turns` if operations are ready; otherwise among `rests`.
        var turn: Heap<Turn, ID>.Ticket?
        var rest: Heap<Int128, ID>.Ticket?
    }

    private var members: [ObjectIdentifier: Member] = [:]
    private var turns = Heap<Turn, ID>()
    /// The groups without ready operations, by their starts.
    private var rests = Heap<Int128, ID>()
    private var time: Int128 = 0

    /// The number of groups with ready operations.
    var waitingCount: Int { turns.count }
    /// The number of groups that the lane knows of.
    var groupCount: Int { members.count }

    /// The key and place of the operation that goes first.
    var first: (key: SortKey, place: Int)? {
        guard let id = turns.first, let ready = members[id]?.ready, let key = ready.firstKey,
            let place = ready.first
        else { return nil }
        return (key, place)
    }

    /// - Complexity: O(log n), as of all methods.
    mutating func insert(
        _ place: Int, at key: SortKey, of group: ShareGroup
    ) -> Heap<SortKey, Int>.Ticket {
        let id = ObjectIdentifier(group)
        var member = members.removeValue(forKey: id) ?? Member(group: group, start: time)
        let ticket = member.ready.insert(place, at: key)
        settle(&member, id)
        members[id] = member
        return ticket
    }

    mutating func remove(_ ticket: Heap<SortKey, Int>.Ticket, of group: ShareGroup) {
        let id = ObjectIdentifier(group)
        // Taken out, so that nothing else refers to its heap meanwhile.
        guard var member = members.removeValue(forKey: id) else { return }
        member.ready.remove(ticket)
        if settle(&member, id) { members[id] = member }
    }

    /// Records that an operation of the group starts, which is still among the ready ones.
    mutating func starts(_ share: Share) {
        let id = ObjectIdentifier(share.group)
        guard var member = members.removeValue(forKey: id) else { return }
        time = max(time, member.start)
        member.start += Int128(Self.unit / Int64(share.weight))
        settle(&member, id)
        members[id] = member
        while let over = rests.removeFirst(upTo: time) { members[over] = nil }
    }

    /// Removes all operations. The starts of the groups are kept.
    mutating func removeAll() {
        for (id, var member) in members {
            member.ready = Heap()
            members[id] = settle(&member, id) ? member : nil
        }
    }

    /// Puts a group where it belongs. Returns false if the lane need not know of it any more.
    @discardableResult
    private mutating func settle(_ member: inout Member, _ id: ID) -> Bool {
        if let turn = member.turn.take() { turns.remove(turn) }
        if let rest = member.rest.take() { rests.remove(rest) }
        if let first = member.ready.firstKey {
            member.turn = turns.insert(id, at: Turn(start: member.start, first: first))
            return true
        }
        guard member.start > time else { return false }
        member.rest = rests.insert(id, at: member.start)
        return true
    }
}
