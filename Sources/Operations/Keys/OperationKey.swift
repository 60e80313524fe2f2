import Synchronization

/// The key of a trait, of any hashable type.
///
/// Unchecked: it is made of values that are `Sendable`.
struct OperationKey: @unchecked Sendable, Equatable, CustomStringConvertible {
    private let base: AnyHashable
    /// The hash of the key, computed once, where no lock is held.
    let hash: Int
    /// A unique number for a key that is not equal to itself, such as `Double.nan`; nil for other
    /// keys. Such a key is equal to no other key. But the table must find it again: by this number,
    /// in a bucket of its own.
    private let serial: Int?

    private static let lastSerial = Atomic<Int>(0)

    init(_ key: some Hashable & Sendable) {
        let base = AnyHashable(key)
        self.base = base
        let isEqualToItself = base == base
        let serial =
            isEqualToItself ? nil : Self.lastSerial.add(1, ordering: .relaxed).newValue
        self.serial = serial
        hash = serial?.hashValue ?? base.hashValue
    }

    static func == (a: OperationKey, b: OperationKey) -> Bool {
        guard a.hash == b.hash, a.serial == b.serial else { return false }
        return a.serial != nil || a.base == b.base
    }

    /// The key as messages show it.
    var description: String {
        base.base is String ? "'\(base.base)'" : "\(base.base)"
    }
}
