/// Elements in the order of their keys. The element with the least key is found at once, and every
/// element is removed in a few steps. Elements with equal keys keep the order of their insertion.
/// Pure.
@usableFromInline
package struct Heap<Key: Comparable, Element> {
    /// Identifies an element that has not been removed.
    @usableFromInline
    package struct Ticket: Equatable, Sendable {
        @usableFromInline let slot: Int
        @usableFromInline let number: UInt64

        @inlinable
        init(slot: Int, number: UInt64) {
            self.slot = slot
            self.number = number
        }
    }

    @usableFromInline
    struct Entry {
        @usableFromInline let key: Key
        @usableFromInline let number: UInt64
        @usableFromInline let slot: Int

        @inlinable
        init(key: Key, number: UInt64, slot: Int) {
            self.key = key
            self.number = number
            self.slot = slot
        }

        @inlinable
        func isBefore(_ other: Entry) -> Bool {
            key == other.key ? number < other.number : key < other.key
        }
    }

    @usableFromInline
    struct Slot {
        @usableFromInline var place: Int
        @usableFromInline var number: UInt64
        @usableFromInline var element: Element?

        @inlinable
        init(place: Int, number: UInt64, element: Element) {
            self.place = place
            self.number = number
            self.element = element
        }
    }

    /// A binary heap.
    @usableFromInline var entries: [Entry] = []
    @usableFromInline var slots: [Slot] = []
    @usableFromInline var freeSlots: [Int] = []
    @usableFromInline var lastNumber: UInt64 = 0

    @inlinable
    package init() {}

    @inlinable package var count: Int { entries.count }

    /// The least key.
    @inlinable package var firstKey: Key? { entries.first?.key }

    /// The element with the least key.
    @inlinable package var first: Element? { entries.first.flatMap { slots[$0.slot].element } }

    /// Returns the number of elements with a lower key.
    ///
    /// - Complexity: O(the result).
    @inlinable
    package func count(below key: Key) -> Int {
        var (count, places) = (0, [0])
        while let place = places.popLast() {
            guard place < entries.count, entries[place].key < key else { continue }
            count += 1
            places += [2 * place + 1, 2 * place + 2]
        }
        return count
    }

    /// - Complexity: O(log n).
    @inlinable
    @discardableResult
    package mutating func insert(_ element: Element, at key: Key) -> Ticket {
        lastNumber += 1
        let slot = freeSlots.popLast() ?? slots.count
        let new = Slot(place: entries.count, number: lastNumber, element: element)
        if slot < slots.count { slots[slot] = new } else { slots.append(new) }
        entries.append(Entry(key: key, number: lastNumber, slot: slot))
        rise(from: entries.count - 1)
        return Ticket(slot: slot, number: lastNumber)
    }

    /// Removes an element; returns nil if the heap no longer contains it.
    ///
    /// - Complexity: O(log n).
    @inlinable
    @discardableResult
    package mutating func remove(_ ticket: Ticket) -> Element? {
        guard slots.indices.contains(ticket.slot), slots[ticket.slot].number == ticket.number,
            slots[ticket.slot].element != nil
        else { return nil }
        return remove(at: slots[ticket.slot].place)
    }

    /// Removes the element with the least key, if that key is at most `limit`; returns nil if there
    /// is none.
    ///
    /// - Complexity: O(log n).
    @inlinable
    package mutating func removeFirst(upTo limit: Key) -> Element? {
        guard let firstKey, firstKey <= limit else { return nil }
        return remove(at: 0)
    }

    @inlinable
    mutating func remove(at place: Int) -> Element? {
        let slot = entries[place].slot
        let last = entries.removeLast()
        if place < entries.count {
            put(last, at: place)
            sink(from: place)
            rise(from: place)
        }
        defer {
            // Free the memory that many elements needed.
            if entries.isEmpty, slots.count > 1024 {
                (entries, slots, freeSlots) = ([], [], [])
            }
        }
        freeSlots.append(slot)
        return slots[slot].element.take()
    }

    @inlinable
    mutating func put(_ entry: Entry, at place: Int) {
        entries[place] = entry
        slots[entry.slot].place = place
    }

    @inlinable
    mutating func rise(from place: Int) {
        let entry = entries[place]
        var place = place
        while place > 0, entry.isBefore(entries[(place - 1) / 2]) {
            put(entries[(place - 1) / 2], at: place)
            place = (place - 1) / 2
        }
        put(entry, at: place)
    }

    @inlinable
    mutating func sink(from place: Int) {
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
