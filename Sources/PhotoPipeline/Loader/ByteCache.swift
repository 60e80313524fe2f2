#if PhotoPipeline
/// Values by key, up to a number of bytes; drops the least recently used values first.
///
/// Each operation takes constant time, apart from the values that it drops.
@_spi(ClassicPhotos) public struct ByteCache<Key: Hashable, Value> {
    /// An entry in the list of uses. The links are positions in `entries`; -1 stands for none.
    private struct Entry {
        var key: Key
        var value: Value?
        var byteCount: Int
        var older = -1
        var newer = -1
    }

    private var positions: [Key: Int] = [:]
    private var entries: [Entry] = []
    private var unused: [Int] = []
    private var oldest = -1
    private var newest = -1
    private let byteLimit: Int
    private let largestEntry: Int

    /// The size of all values in bytes.
    public private(set) var byteCount = 0

    /// The number of look-ups that found a value.
    public private(set) var hits = 0
    /// The number of look-ups that found none.
    public private(set) var misses = 0

    /// Creates an empty cache.
    ///
    /// - Parameters:
    ///   - byteLimit: the maximum size of all values in bytes; 0 to keep none.
    ///   - largestEntry: the maximum size of one value. A larger one is not stored, because it
    ///     would displace too many others. An eighth of the limit unless given.
    public init(byteLimit: Int, largestEntry: Int? = nil) {
        self.byteLimit = max(0, byteLimit)
        self.largestEntry = largestEntry ?? byteLimit / 8
    }

    /// Looks up a value and marks it as used.
    public mutating func value(for key: Key) -> Value? {
        guard let position = positions[key] else {
            misses += 1
            return nil
        }
        hits += 1
        unlink(position)
        linkAsNewest(position)
        return entries[position].value
    }

    /// Whether there is a value for a key; does not count as a use.
    public func contains(_ key: Key) -> Bool { positions[key] != nil }

    /// Stores a value, unless it is too large; an earlier value of the key is dropped.
    ///
    /// - Returns: the dropped values, for callers that release them later.
    @discardableResult
    public mutating func insert(_ value: Value, byteCount size: Int, for key: Key) -> [Value] {
        var dropped: [Value?] = []
        if let position = positions[key] { dropped.append(remove(position)) }
        if size <= largestEntry {
            let entry = Entry(key: key, value: value, byteCount: size)
            let position = unused.popLast() ?? entries.count
            if position == entries.count {
                entries.append(entry)
            } else {
                entries[position] = entry
            }
            positions[key] = position
            linkAsNewest(position)
            byteCount += size
            while byteCount > byteLimit, oldest >= 0 { dropped.append(remove(oldest)) }
        }
        return dropped.compactMap(\.self)
    }

    /// Drops all values, and returns them.
    public mutating func removeAll() -> [Value] {
        let dropped = entries.compactMap(\.value)
        (positions, entries, unused) = ([:], [], [])
        (oldest, newest, byteCount) = (-1, -1, 0)
        return dropped
    }

    private mutating func remove(_ position: Int) -> Value? {
        unlink(position)
        positions[entries[position].key] = nil
        byteCount -= entries[position].byteCount
        unused.append(position)
        return entries[position].value.take()
    }

    private mutating func unlink(_ position: Int) {
        let entry = entries[position]
        if entry.older >= 0 { entries[entry.older].newer = entry.newer }
        if entry.newer >= 0 { entries[entry.newer].older = entry.older }
        if oldest == position { oldest = entry.newer }
        if newest == position { newest = entry.older }
    }

    private mutating func linkAsNewest(_ position: Int) {
        entries[position].older = newest
        entries[position].newer = -1
        if newest >= 0 { entries[newest].newer = position }
        newest = position
        if oldest < 0 { oldest = position }
    }
}
#endif
