import Synchronization

/// The last that was noted of an operation's life, with its time; 0 if nothing was.
///
/// It lies in one word of the operation, so that what is noted needs no memory and no lock. The lowest bits
/// say what it is, which leaves the time a precision of four nanoseconds.
struct PhaseTimestamp: Equatable {
    enum Kind: UInt64 {
        /// It was added to a queue and waits.
        case added
        /// Nothing but its queue holds it back.
        case ready
        /// Its work has begun.
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

    /// False if it has another mark by now.
    func replaceMark(_ old: PhaseTimestamp, by new: PhaseTimestamp) -> Bool {
        mark.compareExchange(expected: old.bits, desired: new.bits, ordering: .relaxed).exchanged
    }

    /// Takes the mark: what it says is noted by the caller, and by nobody else.
    func takeMark() -> PhaseTimestamp {
        PhaseTimestamp(bits: mark.exchange(0, ordering: .relaxed))
    }
}
