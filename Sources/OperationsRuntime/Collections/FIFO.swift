/// A first-in, first-out list with amortised O(1) operations.
///
/// The list is an array with a moving head. Elements before the head are gone, and their space is
/// released when they make up half of it.
@usableFromInline
package struct FIFO<Element> {
    @usableFromInline var storage: [Element?] = []
    @usableFromInline var head = 0

    @inlinable
    package init() {}

    @inlinable package var isEmpty: Bool { head == storage.count }
    @inlinable package var count: Int { storage.count - head }

    @inlinable var first: Element? { head < storage.count ? storage[head] : nil }

    @inlinable
    package mutating func append(_ element: Element) {
        storage.append(element)
    }

    /// Takes O(1) if the element takes the place of one that was removed, otherwise O(n).
    @inlinable
    package mutating func prepend(_ element: Element) {
        if head == 0 { return storage.insert(element, at: 0) }
        head -= 1
        storage[head] = element
    }

    @inlinable
    package mutating func popFirst() -> Element? {
        guard head < storage.count else { return nil }
        let element = storage[head]
        storage[head] = nil
        head += 1
        if head == storage.count {
            storage.removeAll(keepingCapacity: storage.capacity <= 1024)
            head = 0
        } else if head > 1024, head * 2 > storage.count {
            storage.removeFirst(head)
            head = 0
        }
        return element
    }
}

extension FIFO: Sendable where Element: Sendable {}
