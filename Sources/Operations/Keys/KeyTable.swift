/// Values by keys whose `==` is never called with a lock held, because it belongs to a user.
final class KeyTable<Value: Sendable>: Sendable {
    private struct Entry: Sendable {
        let key: OperationKey
        var value: Value
    }

    /// Those of one hash. Each change has a number of its own.
    private struct Bucket: Sendable {
        var entries: [Entry] = []
        var change = 0
    }

    private struct Table {
        var buckets: [Int: Bucket] = [:]
        var changes = 0
    }

    private let table = Locked(Table())

    /// Reads or changes the value of a key, in one step.
    ///
    /// - Parameter body: called once, with the table's lock held; nil stands for no value. What it takes out
    ///   is to be returned, so that it is let go of without the lock.
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
                table.changes += 1
                bucket.change = table.changes
                table.buckets[key.hash] = bucket.entries.isEmpty ? nil : bucket
                return result
            }
            // What was removed is still in `seen`, and goes with it.
            if let result { return withExtendedLifetime(seen) { result } }
        }
    }

    /// How many keys have a value.
    var count: Int { table.withLock { $0.buckets.values.reduce(0) { $0 + $1.entries.count } } }
}
