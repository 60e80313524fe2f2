/// A list in the order of adding, from which any element can be removed in a few steps.
///
/// Each element has a ticket. Removed elements leave gaps, which are closed when most entries are
/// gaps.
struct TicketList<Element> {
    /// The identity of an element in the list. No ticket is given twice.
    typealias Ticket = Int

    /// Tickets rise. A gap keeps its ticket, so that a binary search still works.
    private var entries: [(ticket: Ticket, element: Element?)] = []
    /// The index of the first entry that may be an element: all entries before it are gaps.
    private var head = 0
    private var lastTicket = 0
    private(set) var count = 0

    var isEmpty: Bool { count == 0 }

    /// The oldest element.
    var first: Element? { head < entries.count ? entries[head].element : nil }

    /// The elements in the order of adding.
    ///
    /// - Complexity: O(n).
    var elements: [Element] { entries[head...].compactMap(\.element) }

    mutating func append(_ element: Element) -> Ticket {
        lastTicket += 1
        entries.append((lastTicket, element))
        count += 1
        return lastTicket
    }

    func contains(_ ticket: Ticket) -> Bool { index(of: ticket) != nil }

    /// Removes an element and returns it; nil if it was removed already.
    ///
    /// - Complexity: O(log n), amortised over all removals.
    @discardableResult
    mutating func remove(_ ticket: Ticket) -> Element? {
        guard let index = index(of: ticket) else { return nil }
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

    /// Removes all elements and returns them in the order of adding.
    mutating func takeAll() -> [Element] {
        defer {
            entries = []
            (head, count) = (0, 0)
        }
        return elements
    }

    private func index(of ticket: Ticket) -> Int? {
        let index = entries.partitioningIndex { $0.ticket >= ticket }
        guard index < entries.count, entries[index].ticket == ticket,
            entries[index].element != nil
        else { return nil }
        return index
    }
}
