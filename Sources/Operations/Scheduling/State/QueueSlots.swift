import OperationsRuntime

/// The slots of a queue's width, the claims that take them, and how many entries a claim takes.
///
/// A value without locks: the queue's lock guards the state that it is a part of.
struct QueueSlots {
    /// The number of slots; negative for no limit.
    var width: Int
    /// Whether nothing new begins.
    var isSuspended = false
    /// The slots that are taken, by claims and by single operations.
    private(set) var taken = 0
    /// The claims of workers.
    private(set) var claims: [Claim] = []
    /// The lowest lane from which a claim may hold operations that have not begun.
    private(set) var lowestClaimedLane = PriorityLanes.count
    /// A number that rises whenever claims must return the operations that have not begun.
    private(set) var recallEpoch: UInt32 = 0
    /// What the last claims have shown of the queue's bodies.
    var pace = ClaimPace()

    init(width: Int) { self.width = width }

    // These are inlined: a call would be given a copy of this value, with a reference to each of
    // its parts.

    var isLimited: Bool {
        @inline(__always) get { width >= 0 }
    }

    var hasFree: Bool {
        @inline(__always) get { width < 0 || taken < width }
    }

    /// Whether something that is ready may begin.
    var mayBegin: Bool {
        @inline(__always) get { !isSuspended && hasFree }
    }

    // MARK: Slots

    @inline(__always)
    mutating func take(_ count: Int = 1) { taken += count }

    @inline(__always)
    mutating func giveBack(_ count: Int = 1) { taken -= count }

    // MARK: Claims

    /// Records a claim, with the slots that it has.
    @inline(__always)
    mutating func register(_ claim: Claim) {
        taken += claim.slotCount
        claims.append(claim)
    }

    /// Forgets a claim. Its slots stay taken.
    mutating func unregister(_ claim: Claim) {
        if let index = claims.firstIndex(where: { $0 === claim }) {
            claims.swapAt(index, claims.count - 1)
            claims.removeLast()
        }
        if claims.isEmpty { lowestClaimedLane = PriorityLanes.count }
    }

    func contains(_ claim: Claim) -> Bool { claims.contains { $0 === claim } }

    /// The number of entries that have ended and whose claim is not retired yet.
    var endedInClaims: Int { claims.reduce(0) { $0 + $1.endedCount } }

    /// Records the lowest lane of what a claim holds.
    @inline(__always)
    mutating func holds(lane: Int) { lowestClaimedLane = min(lowestClaimedLane, lane) }

    /// Recalls the operations in claims that have not begun, because the order must be considered
    /// anew.
    mutating func recall() {
        if !claims.isEmpty { recallEpoch &+= 1 }
    }

    /// A claim takes a slot for each entry while bodies suspend, so that the owner need not come
    /// back for another slot whenever a body does.
    var slotsOfClaim: Claim.Slots {
        @inline(__always) get { pace.bodiesSuspend ? .each : .one }
    }

    /// Returns the number of entries to claim: one, unless many are ready that take almost no time.
    ///
    /// - Parameters:
    ///   - readyCount: the number of entries that are ready.
    ///   - cores: the number of workers that may share them.
    ///   - most: the most entries that a claim may hold for other reasons.
    @inline(__always)
    func claimSize(of readyCount: Int, cores: Int, most: Int) -> Int {
        // A claim takes a slot for each entry then.
        let slots = pace.bodiesSuspend && isLimited ? max(1, width - taken) : .max
        return pace.claimSize(of: readyCount, cores: cores, most: min(most, slots))
    }
}

/// How long an entry keeps a worker, learned from the last claims, and how many entries a claim
/// takes because of that.
struct ClaimPace {
    /// A duration so long that each operation is claimed by itself until more is known.
    private static var unknownNanoseconds: UInt64 { 1_000_000 }
    /// The approximate time that another worker needs to wake up.
    private static var smallNanoseconds: UInt64 { 4_000 }
    private static var mostEntries: Int { 32 }

    /// The typical duration of an operation.
    var typicalNanoseconds = Self.unknownNanoseconds
    /// Whether bodies of the last claim were suspended. Each suspended body takes a slot.
    private(set) var bodiesSuspend = false

    /// Whether an entry is done sooner than another worker wakes up.
    var isQuick: Bool {
        @inline(__always) get { typicalNanoseconds < Self.smallNanoseconds }
    }

    /// Learns how long each of the `count` operations of a claim has kept a worker. For an
    /// operation whose body is suspended, only the time up to the suspension counts.
    @inline(__always)
    mutating func learn(_ count: Int, nanoseconds: UInt64, suspends: Bool) {
        guard count > 0 else { return }
        bodiesSuspend = suspends
        #if FIXED_CLAIMS
        // Under the tool that counts instructions, times say nothing; see Benchmarks/instructions.
        let time: UInt64 = 100
        #else
        let time = nanoseconds / UInt64(count)
        #endif
        typicalNanoseconds = max(time, (typicalNanoseconds + time) / 2)
        if time < typicalNanoseconds / 4 { typicalNanoseconds /= 4 }
    }

    /// Forgets how long operations take.
    mutating func forget() { typicalNanoseconds = Self.unknownNanoseconds }

    /// The number of entries to claim. Work that is small is done sooner than it is shared.
    @inline(__always)
    func claimSize(of readyCount: Int, cores: Int, most: Int) -> Int {
        guard isQuick else { return 1 }
        let time = typicalNanoseconds + 1
        let least = Int(Self.smallNanoseconds / time)
        let share = readyCount / cores
        return min(
            max(share, least, 1), min(most, Self.mostEntries),
            Int(16 * Self.smallNanoseconds / time))
    }
}
