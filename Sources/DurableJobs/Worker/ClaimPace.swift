#if DurableJobs
/// How long the bodies of a worker's jobs take, and how long its claims. From that follows how many
/// jobs the worker claims that cannot begin at once. Pure: the times come in as arguments.
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

    /// Whether the worker claims more than it can begin: bodies end sooner than a claim is
    /// answered, so without further jobs the slots would be free for most of the time.
    var claimsAhead: Bool {
        guard let body, let roundTrip else { return false }
        return body < roundTrip
    }

    /// How long a free slot waits for others, so that one claim fills several of them.
    var slotWait: Duration { min((body ?? .zero) / 16, Self.longestSlotWait) }

    mutating func bodyEnded(after time: Duration) {
        body = Self.average(body, min(time, Self.longest))
    }

    mutating func claimAnswered(after time: Duration) {
        roundTrip = Self.average(roundTrip, min(time, Self.longest))
    }

    /// A claimed job was not begun in time: a body takes long, whatever others took.
    mutating func jobWasHandedBack() { body = Self.longest }

    /// No job waits any more, so those that come may be of another kind.
    mutating func restart() { body = nil }

    private static func average(_ old: Duration?, _ new: Duration) -> Duration {
        old.map { $0 + (new - $0) / weight } ?? new
    }
}
#endif
