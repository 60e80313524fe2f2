import Synchronization

/// A key that a trait was given, of whatever type.
///
/// Unchecked: made of values that can be sent.
struct OperationKey: @unchecked Sendable, Equatable, CustomStringConvertible {
    private let base: AnyHashable
    /// Computed once, where nothing is locked.
    let hash: Int
    /// A number of its own if it is a value that is not equal to itself, as `Double.nan`; such a key is equal to
    /// no other key. But it has to be found again: by this, and in a bucket of its own.
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

    /// As messages show it.
    var description: String {
        base.base is String ? "'\(base.base)'" : "\(base.base)"
    }
}
