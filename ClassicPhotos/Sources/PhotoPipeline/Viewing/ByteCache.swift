/// Values by key, up to a number of bytes; drops the least recently used values first.
struct ByteCache<Key: Hashable, Value> {
    private struct Entry {
        let value: Value
        let byteCount: Int
        /// The number of the latest use.
        var use: Int
    }

    private var entries: [Key: Entry] = [:]
    private var byteCount = 0
    private var uses = 0
    private let byteLimit: Int

    /// The numbers of look-ups that found a value, and that did not.
    private(set) var hits = 0
    private(set) var misses = 0

    init(byteLimit: Int) { self.byteLimit = byteLimit }

    /// Looks up a value and marks it as used.
    mutating func value(for key: Key) -> Value? {
        guard var entry = entries[key] else {
            misses += 1
            return nil
        }
        hits += 1
        uses += 1
        entry.use = uses
        entries[key] = entry
        return entry.value
    }

    /// Stores a value. A value larger than an eighth of the limit is not stored, because it would
    /// displace too many others.
    ///
    /// - Complexity: O(n) for each value that is dropped; the values are pictures, so there are at
    ///   most some thousands.
    mutating func insert(_ value: Value, byteCount size: Int, for key: Key) {
        guard size <= byteLimit / 8 else { return }
        remove(key)
        uses += 1
        entries[key] = Entry(value: value, byteCount: size, use: uses)
        byteCount += size
        while byteCount > byteLimit, let oldest = entries.min(by: { $0.value.use < $1.value.use }) {
            remove(oldest.key)
        }
    }

    private mutating func remove(_ key: Key) {
        byteCount -= entries.removeValue(forKey: key)?.byteCount ?? 0
    }
}
