extension Array {
    /// Returns the first index, not before `start`, at which `isBehind` holds, or `count`. If
    /// `isBehind` holds for an element, it must hold for all elements behind it.
    ///
    /// - Complexity: O(log n).
    @inlinable
    package func partitioningIndex(from start: Int = 0, where isBehind: (Element) -> Bool) -> Int {
        var (low, high) = (start, count)
        while low < high {
            let middle = (low + high) / 2
            if isBehind(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
