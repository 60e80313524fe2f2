/// A binary heap, whose least element is found at once and removed in a few steps.
@usableFromInline
package struct Heap<Element: Comparable> {
    @usableFromInline var elements: [Element] = []

    @inlinable
    package init() {}

    @inlinable package var count: Int { elements.count }
    @inlinable package var first: Element? { elements.first }

    /// Inserts an element.
    ///
    /// - Complexity: O(log n).
    @inlinable
    package mutating func insert(_ element: Element) {
        elements.append(element)
        var child = elements.count - 1
        while child > 0, elements[child] < elements[(child - 1) / 2] {
            elements.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    /// Removes and returns the least element. The heap must not be empty.
    ///
    /// - Complexity: O(log n).
    @inlinable
    package mutating func removeFirst() -> Element {
        elements.swapAt(0, elements.count - 1)
        let first = elements.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < elements.count {
                if elements[child] < elements[least] { least = child }
            }
            if least == parent { return first }
            elements.swapAt(parent, least)
            parent = least
        }
    }

    /// Returns a heap without the elements for which `isNeeded` is false.
    ///
    /// - Complexity: O(n log n).
    @inlinable
    package func swept(_ isNeeded: (Element) -> Bool) -> Heap {
        var heap = Heap()
        for element in elements where isNeeded(element) { heap.insert(element) }
        return heap
    }
}
