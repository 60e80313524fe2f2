/// What decides about an operation's effective quality of service, in eight bits of its word.
///
/// Pure. Qualities are ranks, see ``QualityOfService/rank``; 0 says nothing and never counts.
struct QualityOfServiceState: Sendable, Equatable {
    /// Bits 0–2: the property, or what was inferred until it is set. 3: the property was set.
    /// 4–6: the highest promotion. 7: the operation's queue was among those that promoted it.
    private(set) var bits: UInt64

    private static let explicit: UInt64 = 1 << 3
    private static let promotionShift: UInt64 = 4
    private static let givenByQueue: UInt64 = 1 << 7

    /// Whether its queue has a quality.
    var isGivenByQueue: Bool { bits & Self.givenByQueue != 0 }

    @inline(__always)
    init(bits: UInt64) { self.bits = bits }

    /// A new operation's, made where `inferred` holds.
    @inline(__always)
    init(inferred: Int = 0) { self.bits = UInt64(inferred) }

    private var ownRank: Int { Int(bits & 0b111) }
    private var promotion: Int { Int(bits >> Self.promotionShift & 0b111) }

    /// The property: what was set, not what was inferred.
    var property: QualityOfService {
        bits & Self.explicit != 0 ? QualityOfService(rank: ownRank) : .default
    }

    /// The highest of all there is.
    var effectiveRank: Int {
        @inline(__always) get { max(ownRank, promotion) }
    }

    // MARK: Events, which say whether they changed anything

    mutating func set(_ quality: QualityOfService) -> Bool {
        let before = self
        bits = bits & ~0b111 | UInt64(quality.rank) | Self.explicit
        return self != before
    }

    /// Something of that rank waits for it, or comes after it.
    mutating func promote(to rank: Int) -> Bool {
        guard rank > promotion else { return false }
        bits = bits & ~(0b111 << Self.promotionShift) | UInt64(rank) << Self.promotionShift
        return true
    }

    /// It is in a queue of that rank.
    mutating func promoteByQueue(to rank: Int) -> Bool {
        guard rank > 0 else { return false }
        let before = self
        _ = promote(to: rank)
        bits |= Self.givenByQueue
        return self != before
    }

    // MARK: What follows

    /// Whether anybody said what the operation itself is worth, and not only what others are.
    private var isSaid: Bool { ownRank > 0 || isGivenByQueue }

    /// The rank that its thread goes by.
    ///
    /// The effective one, except that what was never said to be unimportant does not become so because
    /// something unimportant waits for it: a promotion must not make anything slower.
    var rankInForce: Int {
        let rank = effectiveRank
        return isSaid || Self.nicenessOffset(ofRank: rank) <= 0 ? rank : 0
    }

    /// Whether the thread may have to be changed for it.
    var isUnusual: Bool {
        @inline(__always) get {
            // Nothing said, and by far the most usual.
            if bits == 0 { return false }
            return Self.nicenessOffset(ofRank: rankInForce) != 0
        }
    }

    /// How much nicer than the process its thread is.
    var nicenessOffset: Int32 { Self.nicenessOffset(ofRank: rankInForce) }

    static func nicenessOffset(ofRank rank: Int) -> Int32 {
        switch rank {
        case 1: 10
        case 2: 5
        case 4: -5
        default: 0
        }
    }
}
