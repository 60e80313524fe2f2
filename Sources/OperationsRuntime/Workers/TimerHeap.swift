/// A priority queue of elements by the time at which they are due. Elements due at the same time
/// keep the order of their insertion. Pure.
struct TimerHeap<Element> {
    /// Identifies an element that has not been removed.
    struct Ticket: Equatable, Sendable {
        fileprivate let slot: Int
        fileprivate let number: UInt64
    }

    private struct Entry {
        let moment: UInt64
        let number: UInt64
        let slot: Int

        func isBefore(_ other: Entry) -> Bool {
            (moment, number) < (other.moment, other.number)
        }
    }

    private struct Slot {
        var place: Int
        var number: UInt64
        var element: Element?
    }

    /// A binary heap.
    private var entries: [Entry] = []
    private var slots: [Slot] = []
    private var freeSlots: [Int] = []
    private var lastNumber: UInt64 = 0

    /// The time at which the first element is due.
    var first: UInt64? { entries.first?.moment }

    /// - Complexity: O(log n).
    mutating func insert(_ element: Element, at moment: UInt64) -> Ticket {
        lastNumber += 1
        let slot = freeSlots.popLast() ?? slots.count
        let new = Slot(place: entries.count, number: lastNumber, element: element)
        if slot < slots.count { slots[slot] = new } else { slots.append(new) }
        entries.append(Entry(moment: moment, number: lastNumber, slot: slot))
        rise(from: entries.count - 1)
        return Ticket(slot: slot, number: lastNumber)
    }

    /// Removes an element before it is due; returns nil if the heap no longer contains the element.
    ///
    /// - Complexity: O(log n).
    mutating func remove(_ ticket: Ticket) -> Element? {
        guard slots.indices.contains(ticket.slot), slots[ticket.slot].number == ticket.number,
            slots[ticket.slot].element != nil
        else { return nil }
        return remove(at: slots[ticket.slot].place)
    }

    /// Removes the first element if it is due; returns nil if no element is due.
    ///
    /// - Complexity: O(log n).
    mutating func removeFirst(dueAt now: UInt64) -> Element? {
        guard let first, first <= now else { return nil }
        return remove(at: 0)
    }

    private mutating func remove(at place: Int) -> Element? {
        let slot = entries[place].slot
        let last = entries.removeLast()
        if place < entries.count {
            put(last, at: place)
            sink(from: place)
            rise(from: place)
        }
        defer {
            // Free the memory that many timers needed.
            if entries.isEmpty, slots.count > 1024 {
                (entries, slots, freeSlots) = ([], [], [])
            }
        }
        freeSlots.append(slot)
        return slots[slot].element.take()
    }

    private mutating func put(_ entry: Entry, at place: Int) {
        entries[place] = entry
        slots[entry.slot].place = place
    }

    private mutating func rise(from place: Int) {
        let entry = entries[place]
        var place = place
        while place > 0, entry.isBefore(entries[(place - 1) / 2]) {
            put(entries[(place - 1) / 2], at: place)
            place = (place - 1) / 2
        }
        put(entry, at: place)
    }

    private mutating func sink(from place: Int) {
        let entry = entries[place]
        var place = place
        while true {
            var child = 2 * place + 1
            if child >= entries.count { break }
            if child + 1 < entries.count, entries[child + 1].isBefore(entries[child]) { child += 1 }
            if !entries[child].isBefore(entry) { break }
            put(entries[child], at: place)
            place = child
        }
        put(entry, at: place)
    }
}
