import Synchronization

/// The last event recorded in an operation's life, with its time; 0 if none was recorded.
///
/// The value is one word of the operation, so recording an event needs no memory and no lock. The
/// two lowest bits hold the kind of event, which leaves the time a precision of four nanoseconds.
struct PhaseTimestamp: Equatable {
    enum Kind: UInt64 {
        /// The operation was added to a queue and waits.
        case added
        /// Only its queue holds the operation back.
        case ready
        /// The body has begun.
        case started
    }

    let bits: UInt64

    init(bits: UInt64) { self.bits = bits }

    init(_ kind: Kind, _ time: UInt64) {
        bits = time & ~3 | kind.rawValue
    }

    var isNothing: Bool { bits == 0 }
    var kind: Kind { Kind(rawValue: bits & 3) ?? .added }
    var time: UInt64 { bits & ~3 }
}

extension Operation {
    var lastMark: PhaseTimestamp { PhaseTimestamp(bits: mark.load(ordering: .relaxed)) }

    func mark(_ new: PhaseTimestamp) { mark.store(new.bits, ordering: .relaxed) }

    func markIfUnmarked(_ new: PhaseTimestamp) {
        _ = mark.compareExchange(expected: 0, desired: new.bits, ordering: .relaxed)
    }

    /// Returns false if the operation has another mark by now.
    func replaceMark(_ old: PhaseTimestamp, by new: PhaseTimestamp) -> Bool {
        mark.compareExchange(expected: old.bits, desired: new.bits, ordering: .relaxed).exchanged
    }

    /// Clears the mark and returns it. Only the caller records the event that it belongs to.
    func takeMark() -> PhaseTimestamp {
        PhaseTimestamp(bits: mark.exchange(0, ordering: .relaxed))
    }
}
