/// A key that a trait was given, of whatever type.
///
/// Unchecked: made of values that can be sent.
struct OperationKey: @unchecked Sendable, Equatable, CustomStringConvertible {
    private let base: AnyHashable
    /// Computed once, where nothing is locked.
    let hash: Int

    init(_ key: some Hashable & Sendable) {
        base = AnyHashable(key)
        hash = base.hashValue
    }

    static func == (a: OperationKey, b: OperationKey) -> Bool {
        a.hash == b.hash && a.base == b.base
    }

    /// As messages show it.
    var description: String {
        base.base is String ? "'\(base.base)'" : "\(base.base)"
    }
}
