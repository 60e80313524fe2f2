#if DurableJobs
import Operations

/// When a worker looks for jobs, from which place on, and for which types. Pure: the time comes in
/// as an argument.
///
/// A *full look* begins at the start of the ready order. Other looks continue where the last one
/// ended; see "The order of claims" in Protocol.md.
struct Looks: Sendable {
    /// How often a worker looks without an event, and for how long it leaves a type to others.
    static let pollTime = Duration.seconds(1)
    /// How long a full look may take without a pause before the next one.
    static let quickLook = Duration.milliseconds(3)

    private let performed: [PerformedJob]
    /// Whether the store is expected to have more jobs behind the last place.
    private(set) var expectsMore = true
    private var needsFullLook = true
    private var fullLookAllowed = Duration.zero
    private var nextPoll = Duration.zero
    private var from = ReadyPlace.start
    /// Whether the look that is under way is a full one.
    private(set) var isFullLook = true
    /// The first place of the last full look, unless it was recorded.
    private var head: ReadyPlace?
    /// The types that the worker does not claim before a time, because their jobs did not begin
    /// although slots were free: they wait for something of this worker, such as a budget.
    private var stuck: [String: Duration] = [:]

    init(_ performed: [PerformedJob]) { self.performed = performed }

    /// The types of the next look.
    var types: [PerformedJob] {
        stuck.isEmpty ? performed : performed.filter { stuck[$0.name] == nil }
    }

    /// When the worker stops leaving a type to others; nil if it leaves none.
    var nextType: Duration? { stuck.values.min() }

    /// When the next look is due, if the store is not expected to have more.
    var next: Duration { needsFullLook ? fullLookAllowed : nextPoll }

    func isDue(now: Duration) -> Bool { expectsMore || isFullLookDue(now: now) }

    private func isFullLookDue(now: Duration) -> Bool { needsFullLook && now >= fullLookAllowed }

    mutating func timePassed(now: Duration) {
        if now >= nextPoll { needsFullLook = true }
        guard stuck.values.contains(where: { $0 <= now }) else { return }
        stuck = stuck.filter { $0.value > now }
        needsFullLook = true
    }

    /// Begins a look, and returns its place.
    mutating func begin(now: Duration) -> ReadyPlace {
        isFullLook = isFullLookDue(now: now)
        if isFullLook {
            from = .start
            needsFullLook = false
        }
        return from
    }

    mutating func answered(_ answer: ExchangeAnswer, now: Duration) {
        from = answer.end ?? .start
        expectsMore = answer.isFull
        if isFullLook {
            head = answer.claimed.first?.place ?? head
            // A slow look, over many rows that PostgreSQL must keep, is not repeated at once.
            let excess = max(.zero, answer.lookTime - Self.quickLook)
            fullLookAllowed = now + min(Self.pollTime, excess * 20)
            nextPoll = now + Self.pollTime
        }
        if let due = answer.nextDue { nextPoll = min(nextPoll, now + due) }
    }

    /// The last look had no answer.
    mutating func failed() { expectsMore = true }

    /// The store may have new jobs anywhere in the order.
    mutating func jobsAdded() { needsFullLook = true }

    /// The store has jobs that the last look has left.
    mutating func lookAgain() { (needsFullLook, expectsMore) = (true, true) }

    /// The jobs of a type do not begin although slots are free.
    mutating func typeIsStuck(_ name: String, now: Duration) { stuck[name] = now + Self.pollTime }

    mutating func jobEnded(ofType name: String) {
        if stuck.removeValue(forKey: name) != nil { needsFullLook = true }
    }

    /// The worker has a new lease.
    mutating func restart() {
        lookAgain()
        (fullLookAllowed, nextPoll, stuck) = (.zero, .zero, [:])
    }

    /// Returns the head of the ready order, if it has changed since the last call.
    mutating func takeHead() -> ReadyPlace? { head.take() }
}
#endif
