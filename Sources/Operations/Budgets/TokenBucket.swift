import OperationsRuntime

/// How fast a bucket fills, and how much it holds.
struct TokenRate: Sendable, Equatable {
    /// The number of tokens that come in each period; 0 for none.
    var tokens: Int
    var period: Duration
    /// The most tokens that a bucket holds.
    var burst: Int

    /// The time in which one token comes.
    var interval: Duration {
        max(Duration(attoseconds: 1), period / max(1, tokens))
    }
}

/// The tokens of a bucket, on a time axis. Pure.
///
/// The state is one moment: that at which the bucket would have been empty if nothing had ever
/// limited what it holds. From that moment on a token comes in each interval, and as many as fit
/// count. (The generic cell rate algorithm of ITU-T I.371 keeps the same moment.) So nothing has to
/// be done as time passes, and no rounding adds up. While no tokens come, the state is their
/// number.
struct TokenBucketState: Sendable {
    private enum Level {
        case emptyAt(Duration)
        /// So many tokens, and a part of the next one.
        case fixed(Int, Double)
    }

    private(set) var rate: TokenRate
    private var level: Level

    /// Makes a full bucket.
    init(_ rate: TokenRate, at now: Duration) {
        self.rate = rate
        level = Self.level(rate.burst, 0, rate, at: now)
    }

    private static func level(
        _ tokens: Int, _ part: Double, _ rate: TokenRate, at now: Duration
    ) -> Level {
        if rate.tokens == 0 { return .fixed(tokens, part) }
        return .emptyAt(now - rate.interval * tokens - rate.interval * part)
    }

    /// The number of tokens.
    func tokens(at now: Duration) -> Int {
        switch level {
        case .fixed(let tokens, _): return max(0, tokens)
        case .emptyAt(let start):
            let count = (now - start).attoseconds / rate.interval.attoseconds
            return Int(clamping: min(max(count, 0), Int128(rate.burst)))
        }
    }

    func isFull(at now: Duration) -> Bool { tokens(at: now) == rate.burst }

    /// The moment from which on there are so many tokens, no more than the bucket holds; nil if
    /// that moment never comes.
    func moment(of count: Int) -> Duration? {
        switch level {
        case .fixed(let tokens, _): tokens >= count ? .zero : nil
        case .emptyAt(let start): start + rate.interval * count
        }
    }

    /// How long it takes until there are so many tokens; nil if no tokens come.
    func wait(for count: Int, at now: Duration) -> Duration? {
        if case .fixed(let tokens, _) = level { return tokens >= count ? .zero : nil }
        return moment(of: count).map { max(.zero, $0 - now) }
    }

    /// Takes tokens, of which there are so many.
    mutating func take(_ count: Int, at now: Duration) {
        if case .emptyAt(let start) = level {
            // What did not fit into the bucket does not count.
            level = .emptyAt(max(start, now - rate.interval * rate.burst))
        }
        take(count)
    }

    /// Puts tokens back that were taken for nothing.
    mutating func putBack(_ count: Int) { take(-count) }

    private mutating func take(_ count: Int) {
        switch level {
        case .fixed(let tokens, let part): level = .fixed(tokens - count, part)
        case .emptyAt(let start): level = .emptyAt(start + rate.interval * count)
        }
    }

    /// Changes the rate. The bucket keeps its tokens, and the part of the next one, as far as it
    /// still holds them.
    mutating func change(to new: TokenRate, at now: Duration) {
        let tokens = tokens(at: now)
        let part =
            switch level {
            case .fixed(_, let part): part
            case .emptyAt(let start): (now - start) / rate.interval - Double(tokens)
            }
        rate = new
        level =
            tokens < new.burst
            ? Self.level(tokens, min(max(part, 0), 1), new, at: now)
            : Self.level(new.burst, 0, new, at: now)
    }

    /// Continues on another time axis.
    mutating func move(from old: Duration, to new: Duration) {
        if case .emptyAt(let start) = level { level = .emptyAt(start + (new - old)) }
    }
}

/// What the buckets of a rate limit have in common.
///
/// Unchecked: the lock of all budgets guards all variables.
final class RateSettings: @unchecked Sendable {
    let name: String
    var rate: TokenRate
    private(set) var time = TimeSource.continuous
    private(set) var isTimeKnown = false
    /// The moment at which a pause ends.
    var closedUntil: Duration?

    init(_ rate: TokenRate, name: String) { (self.rate, self.name) = (rate, name) }

    var now: Duration { time.now() }

    /// Measures time by the first queue that uses the limit. Returns the same moment on the time
    /// axis before and on that of the queue, if that is a change.
    func use(_ source: TimeSource) -> (old: Duration, new: Duration)? {
        guard !isTimeKnown else { return nil }
        isTimeKnown = true
        let old = now
        time = source
        closedUntil = closedUntil.map { $0 - old + now }
        return (old, now)
    }
}

/// A bucket of a rate limit: a budget whose permits are tokens, which come back with time and not
/// when an operation ends.
///
/// Unchecked: the lock of all budgets guards all fields that are not constant.
final class TokenBucket: ConcurrencyBudget, @unchecked Sendable {
    private let limit: RateSettings
    private var state: TokenBucketState
    /// The moment at which a pause of this bucket alone ends.
    private var ownClosedUntil: Duration?
    /// The timer for the first request in line, and when it is due.
    private var timer: (action: any ScheduledAction, due: Duration)?

    /// Makes a full bucket. Called with the lock held, or for a limit that no other thread knows.
    init(of limit: RateSettings) {
        self.limit = limit
        state = TokenBucketState(limit.rate, at: limit.now)
        super.init(total: limit.rate.burst, name: limit.name, isOfKey: false)
    }

    // MARK: With the lock held

    override var ordersByPriority: Bool { true }

    private var tokens: Int { state.tokens(at: limit.now) }
    private var isOpen: Bool { limit.rate.tokens > 0 && closedTime == nil }

    /// The moment at which the last pause of the limit or of this bucket ends.
    private var closedUntil: Duration? {
        [ownClosedUntil, limit.closedUntil].compactMap { $0 }.max()
    }

    /// For how long the limit or this bucket is closed; nil if both are open.
    private var closedTime: Duration? {
        closedUntil.map { $0 - limit.now }.flatMap { $0 > .zero ? $0 : nil }
    }

    /// Closes the bucket for a time; a pause that ends later goes on. Nil opens it.
    func pause(for duration: Duration?) {
        let end = duration.map { limit.now + $0 }
        ownClosedUntil = end.map { max(ownClosedUntil ?? $0, $0) }
    }

    override var free: Int { isOpen ? tokens : 0 }

    /// Whether the bucket is as if it were new.
    var isLikeNew: Bool {
        firstInLine == nil && state.isFull(at: limit.now) && closedTime == nil
    }

    override func acquire(_ permits: Int) { state.take(permits, at: limit.now) }

    override func release(_ permits: Int, areUsed: Bool) {
        if !areUsed { state.putBack(permits) }
    }

    override func mostInUse(beside permits: Int) -> Int? { nil }

    override func wait(for permits: Int) -> RateLimit.Wait? {
        let closed = closedTime
        return RateLimit.Wait(
            time: limit.rate.tokens == 0
                ? nil : state.wait(for: permits, at: limit.now).map { max($0, closed ?? .zero) },
            tokens: tokens, burst: state.rate.burst, isClosed: !isOpen)
    }

    /// Sets the timer for the first request in line, if only time has to pass for it.
    ///
    /// The time may have come since the request was refused: then the timer is due at once.
    override func lineIsServed() {
        guard let first = firstInLine, limit.rate.tokens > 0,
            let moment = state.moment(of: first.permits(of: self))
        else { return removeTimer() }
        let due = max(moment, closedUntil ?? moment)
        if let timer, timer.due == due { return }
        let time = due - limit.now
        guard time > .zero || first.canAcquire else { return removeTimer() }
        timer?.action.cancel()
        // No code of users runs in this call. The lock is the last but those of the timers.
        let action = limit.time.schedule(after: time, named: "rate '\(name)'") { [weak self] in
            self?.timeHasCome(due)
        }
        timer = (action, due)
    }

    private func removeTimer() {
        timer?.action.cancel()
        timer = nil
    }

    private func timeHasCome(_ due: Duration) {
        let granted = Self.lock.withLock { () -> GrantedPermits in
            guard timer?.due == due else { return GrantedPermits() }
            timer = nil
            return Self.grantPermits(of: [self])
        }
        PermitRequest.startGranted(granted)
    }

    /// Follows a change of the limit. Called in `update`.
    func limitHasChanged() {
        if state.rate != limit.rate { state.change(to: limit.rate, at: limit.now) }
        setTotal(state.rate.burst)
    }

    /// Follows a change of the limit's time source.
    func move(from old: Duration, to new: Duration) {
        state.move(from: old, to: new)
        ownClosedUntil = ownClosedUntil.map { $0 - old + new }
    }
}
