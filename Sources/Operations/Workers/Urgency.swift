/// How soon the pool runs something, by its quality of service: what is more urgent does not wait for workers
/// that run what is less.
enum Urgency: Int, Comparable, CaseIterable {
    case background, utility, usual, interactive
    /// What is due at a moment: it is short, and must not wait for work, not even for the most urgent.
    case timer

    /// - Parameter rank: of a quality of service.
    init(rank: Int) {
        switch rank {
        case 1: self = .background
        case 2: self = .utility
        case 4: self = .interactive
        default: self = .usual
        }
    }

    init(_ priority: JobPriority) {
        switch priority.rawValue {
        case 1...9: self = .background
        case 10...17: self = .utility
        case 26...: self = .interactive
        default: self = .usual
        }
    }

    static func < (a: Urgency, b: Urgency) -> Bool { a.rawValue < b.rawValue }
}

/// The urgencies with which a queue was handed to the pool, once each.
struct OfferedUrgencies {
    private var bits: UInt8 = 0

    var isEmpty: Bool { bits == 0 }
    var count: Int { bits.nonzeroBitCount }

    /// False if it is there as urgently, or more, already.
    @inline(__always)
    mutating func insert(_ urgency: Urgency) -> Bool {
        guard bits >> urgency.rawValue == 0 else { return false }
        bits |= 1 << urgency.rawValue
        return true
    }

    @inline(__always)
    mutating func remove(_ urgency: Urgency) { bits &= ~(1 << urgency.rawValue) }
}
