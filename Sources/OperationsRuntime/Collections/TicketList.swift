/// A list in the order of tickets, from which any element can be removed in a few steps.
///
/// A ticket identifies an element. It is the next one of the list, or the caller draws it from
/// a counter of its own. Removed elements leave gaps, which are closed when most entries are gaps.
@usableFromInline
package struct TicketList<Element> {
    @usableFromInline package typealias Ticket = Int

    /// Tickets rise from the head on. A gap keeps its ticket, so that a binary search still works.
    @usableFromInline var entries: [(ticket: Ticket, element: Element?)] = []
    /// The index of the first entry that may be an element: all entries before it are gaps.
    @usableFromInline var head = 0
    @usableFromInline var lastTicket = 0
    @usableFromInline package internal(set) var count = 0

    @inlinable
    package init() {}

    @inlinable package var isEmpty: Bool { count == 0 }

    /// The element with the lowest ticket.
    @inlinable package var first: Element? { head < entries.count ? entries[head].element : nil }

    /// The lowest ticket of an element.
    @inlinable package var firstTicket: Ticket? {
        head < entries.count ? entries[head].ticket : nil
    }

    /// The elements in their order.
    ///
    /// - Complexity: O(n).
    @inlinable package var elements: [Element] { entries[head...].compactMap(\.element) }

    /// The last element that satisfies a condition.
    ///
    /// - Complexity: O(n), from the end.
    @inlinable
    package func last(where condition: (Element) -> Bool) -> Element? {
        entries[head...].last { $0.element.map(condition) == true }?.element
    }

    // MARK: Adding

    /// Adds an element with a ticket that is higher than all before. The list gives no ticket
    /// twice.
    @inlinable
    package mutating func append(_ element: Element) -> Ticket {
        insert(element, ticket: lastTicket + 1)
        return lastTicket
    }

    /// Adds an element whose ticket no other element has.
    ///
    /// - Complexity: O(1) for a ticket higher than all before, otherwise O(n).
    @inlinable
    package mutating func insert(_ element: Element, ticket: Ticket) {
        count += 1
        guard ticket <= lastTicket else {
            lastTicket = ticket
            return entries.append((ticket, element))
        }
        let index = place(of: ticket)
        if index < entries.count, entries[index].ticket == ticket {
            entries[index].element = element
        } else {
            entries.insert((ticket, element), at: index)
        }
    }

    // MARK: Searching

    func contains(_ ticket: Ticket) -> Bool { index(of: ticket) != nil }

    /// The number of elements before this ticket.
    @inlinable
    package func count(before ticket: Ticket) -> Int {
        entries[head..<place(of: ticket)].count { $0.element != nil }
    }

    /// The index of the first entry whose ticket is not lower.
    @inlinable func place(of ticket: Ticket) -> Int {
        entries.partitioningIndex(from: head) { $0.ticket >= ticket }
    }

    @inlinable func index(of ticket: Ticket) -> Int? {
        let index = place(of: ticket)
        guard index < entries.count, entries[index].ticket == ticket,
            entries[index].element != nil
        else { return nil }
        return index
    }

    // MARK: Removing

    /// Removes an element and returns it; nil if it was removed already.
    ///
    /// - Complexity: O(log n), amortised over all removals.
    @discardableResult
    @inlinable
    package mutating func remove(_ ticket: Ticket) -> Element? {
        index(of: ticket).flatMap { remove(at: $0) }
    }

    /// Removes the element with the lowest ticket and returns it; nil if there is none.
    ///
    /// - Complexity: O(1), amortised over all removals.
    @discardableResult
    @inlinable
    package mutating func popFirst() -> Element? { isEmpty ? nil : remove(at: head) }

    @inlinable mutating func remove(at index: Int) -> Element? {
        let element = entries[index].element
        entries[index].element = nil
        count -= 1
        while head < entries.count, entries[head].element == nil { head += 1 }
        while entries.count > head, entries[entries.count - 1].element == nil {
            entries.removeLast()
        }
        if entries.count > 2 * count + 16 {
            entries.removeAll { $0.element == nil }
            head = 0
        }
        return element
    }

    /// Removes all elements and returns them in their order.
    @inlinable
    package mutating func takeAll() -> [Element] {
        defer {
            entries = []
            (head, count) = (0, 0)
        }
        return elements
    }
}
