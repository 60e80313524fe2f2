import OperationsRuntime

/// A table of values by keys. The `==` of a key is user code, so the table never calls it with a
/// lock held.
final class KeyTable<Value: Sendable>: Sendable {
    private struct Entry: Sendable {
        let key: OperationKey
        var value: Value
    }

    /// The entries of one hash. Each change of a bucket has a number of its own.
    private struct Bucket: Sendable {
        var entries: [Entry] = []
        var change = 0
    }

    private struct Table {
        var buckets: [Int: Bucket] = [:]
        var changes = 0
        var count = 0
    }

    private let table = Locked(Table())

    /// Reads or changes the value of a key, in one step.
    ///
    /// - Parameter body: called once, with the table's lock held; nil stands for no value. Return
    ///   the old value if `body` replaces or removes it, so that it is released without the lock.
    func change<Result: Sendable>(
        _ key: OperationKey, _ body: (inout Value?) -> Result
    ) -> Result {
        while true {
            let seen = table.withLock { $0.buckets[key.hash] } ?? Bucket()
            let index = seen.entries.firstIndex { $0.key == key }
            let result: Result? = table.withLock { table in
                var bucket = table.buckets[key.hash] ?? Bucket()
                guard bucket.change == seen.change else { return nil }
                var value = index.map { bucket.entries[$0].value }
                let result = body(&value)
                switch (index, value) {
                case (nil, nil): return result
                case (nil, let value?): bucket.entries.append(Entry(key: key, value: value))
                case (let index?, nil): bucket.entries.remove(at: index)
                case (let index?, let value?): bucket.entries[index].value = value
                }
                table.count += (value == nil ? 0 : 1) - (index == nil ? 0 : 1)
                table.changes += 1
                bucket.change = table.changes
                table.buckets[key.hash] = bucket.entries.isEmpty ? nil : bucket
                return result
            }
            // `seen` still holds a removed entry, and releases it here, without the lock.
            if let result { return withExtendedLifetime(seen) { result } }
        }
    }

    /// The number of hashes that one hold of the lock goes through.
    private static var hashesAtOnce: Int { 256 }

    /// Calls `body` with each hash that the table knows now, in many holds of the lock.
    private func forEachHash(_ body: (inout Table, Int) -> Void) {
        let hashes = table.withLock { Array($0.buckets.keys) }
        for start in stride(from: 0, to: hashes.count, by: Self.hashesAtOnce) {
            let part = hashes[start..<min(start + Self.hashesAtOnce, hashes.count)]
            table.withLock { table in for hash in part { body(&table, hash) } }
        }
    }

    /// Removes the values for which `isSuperfluous` returns true.
    ///
    /// - Parameter isSuperfluous: called with the table's lock held.
    func removeAll(where isSuperfluous: (inout Value) -> Bool) {
        var removed: [Entry] = []
        forEachHash { table, hash in
            // Taken out, so that nothing else refers to the values meanwhile.
            guard var bucket = table.buckets.removeValue(forKey: hash) else { return }
            for index in bucket.entries.indices.reversed()
            where isSuperfluous(&bucket.entries[index].value) {
                removed.append(bucket.entries.remove(at: index))
                table.count -= 1
            }
            table.changes += 1
            bucket.change = table.changes
            if !bucket.entries.isEmpty { table.buckets[hash] = bucket }
        }
        // Keys and values of users are released without the lock.
        withExtendedLifetime(removed) {}
    }

    /// The values in the table. Values that are added during the call are left out.
    var values: [Value] {
        var values: [Value] = []
        forEachHash { table, hash in
            if let bucket = table.buckets[hash] { values += bucket.entries.lazy.map(\.value) }
        }
        return values
    }

    /// The number of keys that have a value.
    var count: Int { table.withLock { $0.count } }
}

/// Decides when a table whose values are of no use after some time is searched for such values:
/// when it has twice as many as after the last search. So a key costs O(1), and the table is never
/// much larger than what is of use.
struct Crowd {
    private var count = 0
    private var limit = 64

    /// Records a new key. Returns whether to search now.
    mutating func keyWasAdded() -> Bool {
        count += 1
        return count >= limit
    }

    /// Records how many keys a search has left.
    mutating func wasSearched(leaving count: Int) {
        self.count = count
        limit = max(64, 2 * count)
    }
}
