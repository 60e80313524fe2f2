import OperationsRuntime

/// A limit on how many operations start in a period, for operations of any number of queues: what a
/// server allows, for example.
///
/// ```swift
/// let github = RateLimit(5_000, per: .seconds(3_600), burst: 50, name: "GitHub")
/// queue.add(.rate(github)) { try await fetch(page) }
/// ```
///
/// The limit is a token bucket. The bucket holds `burst` tokens and is full at first; a token comes
/// in each 5,000th part of the hour here. Each attempt of an operation takes a token when it
/// begins. So at most `burst` operations start at once, and over a longer time as many as tokens
/// come: in a period, at most `limit` + `burst`. `RateLimit(10, per: .seconds(1))` may start 20
/// operations in its first second, ten of them at once; with `burst: 1`, one starts every 100 ms,
/// and no second has more than 11. For a server that counts strictly, choose `burst: 1`, or a limit
/// and a burst that together are what it allows. An operation that is cancelled before it begins
/// takes none.
///
/// An operation for which there is no token waits in line, without a slot of its queue. In the line
/// the ``Operation/queuePriority`` decides, and then the order in which the queues reached the
/// operations. ``Operation/explain()`` says how long the first one still has to wait.
///
/// A server that has had enough says so (`429 Too Many Requests`). Then ``pause(for:)`` closes the
/// limit for all operations, or ``RetryDecision/retry(after:closing:)`` does, together with the
/// next attempt of the operation that was refused.
///
/// Time is that of the queue whose operation uses the limit first. In tests with a test scheduler,
/// make a limit for each scheduler.
public final class RateLimit: @unchecked Sendable {
    // Unchecked: the lock of all budgets guards all variables.

    private let settings: RateSettings
    /// The bucket of operations without a key.
    private let sharedBucket: TokenBucket
    private let keyed = KeyTable<TokenBucket>()
    private var crowd = Crowd()

    /// The name of the limit in messages.
    public var name: String { settings.name }

    private static let greatestBurst = 1_000_000_000

    /// Makes a limit.
    ///
    /// - Parameters:
    ///   - limit: how many tokens come in each period; not negative. 0 is a pause.
    ///   - period: longer than zero, and at most a century.
    ///   - burst: how many operations may start at once; at least 1, and at most a billion. As many
    ///     as come in a period unless given.
    ///   - name: the name of the limit in messages.
    public init(_ limit: Int, per period: Duration, burst: Int? = nil, name: String = "requests") {
        Self.check(limit, name)
        if period <= .zero {
            misuse("the limit '\(name)' cannot have a period of \(period): use a longer one")
        }
        let burst = burst ?? max(1, limit)
        Self.check(burst: burst, name)
        let rate = TokenRate(
            tokens: limit, period: period.limitedToLongestTime,
            burst: min(burst, Self.greatestBurst))
        settings = RateSettings(rate, name: name)
        sharedBucket = TokenBucket(of: settings)
    }

    private static func check(_ limit: Int, _ name: String) {
        if limit < 0 { misuse("the limit '\(name)' cannot be \(limit): use 0 or more") }
    }

    private static func check(burst: Int, _ name: String) {
        if burst < 1 {
            misuse("the limit '\(name)' cannot have a burst of \(burst): use 1 or more")
        }
    }

    // MARK: Changing

    /// How many tokens come in each period. It can be changed at any time; 0 is a pause.
    ///
    /// Tokens that have come already stay.
    ///
    /// - Precondition: set to 0 or more.
    public var limit: Int {
        get { ConcurrencyBudget.lock.withLock { settings.rate.tokens } }
        set {
            Self.check(newValue, name)
            change { settings.rate.tokens = newValue }
        }
    }

    /// How many operations may start at once. It can be changed at any time.
    ///
    /// - Precondition: set to 1 or more.
    public var burst: Int {
        get { ConcurrencyBudget.lock.withLock { settings.rate.burst } }
        set {
            Self.check(burst: newValue, name)
            change { settings.rate.burst = min(newValue, Self.greatestBurst) }
        }
    }

    /// Lets no operation start for a time. A pause that ends later goes on.
    ///
    /// Tokens come meanwhile, so a whole burst may start afterwards.
    public func pause(for duration: Duration) {
        let duration = duration.limitedToLongestTime
        change {
            let end = settings.now + duration
            settings.closedUntil = max(settings.closedUntil ?? end, end)
        }
    }

    /// Lets no operation start until a moment. A pause that ends later goes on.
    public func pause(until instant: ContinuousClock.Instant) {
        pause(for: ContinuousClock.now.duration(to: instant))
    }

    /// Lets no operation with a key start for a time. A pause that ends later goes on.
    ///
    /// See ``OperationTrait/rate(_:by:tokens:)``. Operations with other keys, or with none, are not
    /// affected.
    public func pause(for duration: Duration, by key: some Hashable & Sendable) {
        pause(for: duration, key: OperationKey(key))
    }

    /// - Parameter key: nil for the operations without a key.
    private func pause(for duration: Duration, key: OperationKey?) {
        let bucket = bucket(for: key)
        update([bucket]) { $0.pause(for: duration.limitedToLongestTime) }
    }

    /// Holds back everybody who takes tokens where an operation with these rates does; all, if the
    /// operation does not use this limit.
    func pause(for duration: Duration, because rates: [OperationOptions.Rate]) {
        let own = rates.filter { $0.limit === self }
        if own.isEmpty { return pause(for: duration) }
        for rate in own { pause(for: duration, key: rate.key) }
    }

    /// Ends all pauses, also those of keys.
    public func resume() {
        ConcurrencyBudget.lock.withLock { settings.closedUntil = nil }
        update(buckets) { $0.pause(for: nil) }
    }

    /// Changes the limit, and starts what may start because of that.
    private func change(_ body: () -> Void) {
        ConcurrencyBudget.lock.withLock(body)
        // Only now: a bucket that is made from here on knows of the change.
        update(buckets) { _ in }
    }

    /// The number of buckets that one hold of the lock changes. All budgets of the process wait for
    /// it, and a limit may have many keys.
    private static let bucketsAtOnce = 16

    /// Changes buckets, has them follow the limit, and starts what may start because of that.
    ///
    /// A bucket that was not reached yet still fills at the old rate; whether the limit is closed
    /// is known to all at once. Of two threads that change the limit, each has all buckets follow
    /// the last change.
    private func update(_ buckets: [TokenBucket], _ body: (TokenBucket) -> Void) {
        for start in stride(from: 0, to: buckets.count, by: Self.bucketsAtOnce) {
            let part = buckets[start..<min(start + Self.bucketsAtOnce, buckets.count)]
            ConcurrencyBudget.update(part) { bucket in
                body(bucket)
                bucket.limitHasChanged()
            }
        }
    }

    // MARK: Buckets

    private var buckets: [TokenBucket] { [sharedBucket] + keyed.values }

    /// Returns the bucket for an operation of a queue with this time.
    func bucket(for key: OperationKey?, time: TimeSource) -> TokenBucket {
        if ConcurrencyBudget.lock.withLock({ !settings.isTimeKnown }) { use(time) }
        return bucket(for: key)
    }

    private func use(_ time: TimeSource) {
        let buckets = buckets
        ConcurrencyBudget.lock.withLock {
            guard let (old, new) = settings.use(time) else { return }
            for bucket in buckets { bucket.move(from: old, to: new) }
        }
    }

    private func bucket(for key: OperationKey?) -> TokenBucket {
        guard let key else { return sharedBucket }
        let new = ConcurrencyBudget.lock.withLock { TokenBucket(of: settings) }
        let (bucket, isNew) = keyed.change(key) { entry -> (TokenBucket, Bool) in
            if let bucket = entry { return (bucket, false) }
            entry = new
            return (new, true)
        }
        let isCrowded = ConcurrencyBudget.lock.withLock { isNew && crowd.keyWasAdded() }
        // The limit may have changed before the table knew the bucket.
        update([bucket]) { _ in }
        if isCrowded { removeFullBuckets() }
        return bucket
    }

    /// Removes the buckets of keys that nothing uses and that are like new ones.
    private func removeFullBuckets() {
        keyed.removeAll { bucket in
            isKnownUniquelyReferenced(&bucket)
                && ConcurrencyBudget.lock.withLock { bucket.isLikeNew }
        }
        let count = keyed.count
        ConcurrencyBudget.lock.withLock { crowd.wasSearched(leaving: count) }
    }

    /// The number of keys with a bucket.
    var bucketCount: Int { keyed.count }

    /// The number of tokens that the bucket of operations without a key holds now.
    public var availableTokens: Int {
        ConcurrencyBudget.lock.withLock { sharedBucket.free }
    }

    // MARK: Traits

    /// Throws if no bucket could ever hold so many tokens.
    func check(_ tokens: Int, for operation: Operation) throws(OperationMisuse) {
        let burst = sharedBucket.greatestPermits
        guard tokens > burst else { return }
        throw .tokens(tokens, of: name, burst: burst, by: operation.label)
    }

    /// How long it takes until there are enough tokens.
    struct Wait: Sendable {
        /// Nil if no tokens come.
        let time: Duration?
        let tokens: Int
        let burst: Int
        let isClosed: Bool
    }
}

extension RateLimit: Hashable {
    /// Two limits are equal if they are the same object.
    public static func == (a: RateLimit, b: RateLimit) -> Bool { a === b }

    /// Hashes the identity of the object.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
