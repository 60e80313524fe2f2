#if DurableJobs
/// How long the bodies of a worker's jobs take, and how long its claims. From that follows how many
/// jobs the worker claims that cannot begin at once, and when it fills a free slot. Pure: the time
/// comes in as an argument.
struct ClaimPace: Sendable {
    /// A new value counts for this part of an average.
    private static let weight = 8
    /// The longest time that counts: beyond it, a body is long, however long.
    static let longest = Duration.seconds(1)
    /// The longest wait of a free slot for others.
    static let longestSlotWait = Duration.milliseconds(5)

    /// The average time of a body; nil until one has ended since the last ``restart()``.
    private(set) var body: Duration?
    /// The average time from when a claim could begin a job until its answer.
    private(set) var roundTrip: Duration?
    /// Since when a job of the next claim could begin, if the store is expected to have one.
    private var slotFreeSince: Duration?
    /// Since when a job of the claim that is under way could begin.
    private var wantedSince = Duration.zero

    /// Whether the worker claims more than it can begin: bodies end sooner than a claim is
    /// answered, so without further jobs the slots would be free for most of the time.
    var claimsAhead: Bool {
        guard let body, let roundTrip else { return false }
        return body < roundTrip
    }

    /// When the next claim is due if the store is expected to have jobs. A free slot waits for
    /// others, so that one claim fills several of them.
    var claimTime: Duration {
        slotFreeSince.map { $0 + min((body ?? .zero) / 16, Self.longestSlotWait) } ?? .zero
    }

    /// A slot is free, and the store is expected to have a job for it.
    ///
    /// - Returns: whether no other slot was free before, since the last claim.
    mutating func slotBecameFree(now: Duration) -> Bool {
        guard slotFreeSince == nil else { return false }
        slotFreeSince = now
        return true
    }

    mutating func claimBegan(now: Duration) {
        wantedSince = slotFreeSince ?? now
        slotFreeSince = nil
    }

    mutating func claimAnswered(now: Duration) {
        roundTrip = Self.average(roundTrip, now - wantedSince)
    }

    mutating func bodyEnded(after time: Duration) { body = Self.average(body, time) }

    /// A claimed job was not begun in time: a body takes long, whatever others took.
    mutating func jobWasHandedBack() { body = Self.longest }

    /// No job waits any more, so those that come may be of another kind.
    mutating func restart() { (body, slotFreeSince) = (nil, nil) }

    private static func average(_ old: Duration?, _ new: Duration) -> Duration {
        let new = min(new, longest)
        return old.map { $0 + (new - $0) / weight } ?? new
    }
}
#endif
