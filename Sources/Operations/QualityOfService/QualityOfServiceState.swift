import OperationsRuntime

/// The data that determine an operation's effective quality of service, in eight bits of its
/// lifecycle state.
///
/// Pure. Qualities are ranks, see ``QualityOfService/rank``; rank 0 stands for no quality and never
/// counts.
struct QualityOfServiceState: Sendable, Equatable {
    /// The fields of the state.
    ///
    /// - Bits 0–2: the rank of the property or, until the property is set, the inferred rank.
    /// - Bit 3: whether the property was set.
    /// - Bits 4–6: the rank of the highest promotion.
    /// - Bit 7: whether the operation's queue was among the sources of promotions.
    private(set) var bits: UInt64

    private static let explicit: UInt64 = 1 << 3
    private static let promotionShift: UInt64 = 4
    private static let givenByQueue: UInt64 = 1 << 7

    /// Whether the operation's queue has a quality.
    var isGivenByQueue: Bool { bits & Self.givenByQueue != 0 }

    @inline(__always)
    init(bits: UInt64) { self.bits = bits }

    /// Creates the state of a new operation, created where the rank `inferred` is in force.
    @inline(__always)
    init(inferred: Int = 0) { self.bits = UInt64(inferred) }

    private var ownRank: Int { Int(bits & 0b111) }
    private var promotion: Int { Int(bits >> Self.promotionShift & 0b111) }

    /// The value of the property, which includes no inferred rank.
    var property: QualityOfService {
        bits & Self.explicit != 0 ? QualityOfService(rank: ownRank) : .default
    }

    /// The highest rank that applies.
    var effectiveRank: Int {
        @inline(__always) get { max(ownRank, promotion) }
    }

    // MARK: Events, which return whether they changed anything

    mutating func set(_ quality: QualityOfService) -> Bool {
        let before = self
        bits = bits & ~0b111 | UInt64(quality.rank) | Self.explicit
        return self != before
    }

    /// Promotes the operation because an operation of that rank waits for it or follows it in the
    /// queue.
    mutating func promote(to rank: Int) -> Bool {
        guard rank > promotion else { return false }
        bits = bits & ~(0b111 << Self.promotionShift) | UInt64(rank) << Self.promotionShift
        return true
    }

    /// Promotes the operation because it is in a queue of that rank.
    mutating func promoteByQueue(to rank: Int) -> Bool {
        guard rank > 0 else { return false }
        let before = self
        _ = promote(to: rank)
        bits |= Self.givenByQueue
        return self != before
    }

    // MARK: Conclusions

    /// Whether a quality was specified for the operation itself, and not only for other operations.
    private var isSpecified: Bool { ownRank > 0 || isGivenByQueue }

    /// The rank that determines the urgency of the operation, and so the niceness of its thread.
    ///
    /// This is the effective rank, with one exception: an operation that was never specified as
    /// unimportant does not become unimportant because an unimportant operation waits for it. A
    /// promotion must not make anything slower.
    var rankInForce: Int {
        let rank = effectiveRank
        return isSpecified || Urgency(rank: rank) >= .usual ? rank : 0
    }

    /// Whether the operation is more or less urgent than usual.
    var isUnusual: Bool {
        @inline(__always) get {
            // No quality was specified, by far the most common case.
            if bits == 0 { return false }
            return urgency != .usual
        }
    }
}

extension QualityOfServiceState {
    /// The urgency of every work item of an operation: of the start that its queue offers, of the
    /// jobs of its async body, and of everything that follows from its end.
    ///
    /// The urgency follows from the rank in force, so a promotion to `background` does not make an
    /// operation wait that did not wait before.
    var urgency: Urgency { Urgency(rank: rankInForce) }
}
