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

extension QualityOfServiceState {
    /// The one answer for everything that a worker is to run: what a queue starts next, the pieces of an async
    /// body, and what follows from an operation's end.
    ///
    /// By the rank in force: a promotion to `background` makes nothing wait that did not before.
    var urgency: Urgency { Urgency(rank: rankInForce) }
}

extension Operation {
    /// How soon what it needs is to be run, by what its word says. Of one that is in a queue, and has not been
    /// claimed, the queue knows more (`QueueState.urgency(of:)`).
    final var urgency: Urgency { QualityOfServiceUse.isOn ? status.quality.urgency : .usual }
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
