#if DurableJobs
/// The claimed jobs that may not have begun, in the order of their claims. Pure.
///
/// A job that begins is not removed before its time: nobody asks for it earlier.
struct UnbegunJobs: Sendable {
    /// How long a worker keeps a job that has not begun.
    static let patience = Duration.seconds(1)

    /// Jobs that were claimed together, and when they are handed back.
    private struct Claim: Sendable {
        let until: Duration
        var tokens: [AttemptToken]
    }

    private var claims: [Claim] = []

    /// When the next jobs are handed back; nil if there are none.
    var next: Duration? { claims.first?.until }

    /// - Parameter time: how long the job waits for a time of its own, before its patience counts.
    mutating func add(_ token: AttemptToken, waiting time: Duration = .zero, now: Duration) {
        let until = now + time + Self.patience
        let index = (claims.lastIndex { $0.until <= until } ?? -1) + 1
        if index > 0, claims[index - 1].until == until {
            claims[index - 1].tokens.append(token)
        } else {
            claims.insert(Claim(until: until, tokens: [token]), at: index)
        }
    }

    /// Removes the jobs whose time has come.
    mutating func takeDue(now: Duration) -> [AttemptToken] {
        let count = claims.prefix { $0.until <= now }.count
        guard count > 0 else { return [] }
        defer { claims.removeFirst(count) }
        return claims.prefix(count).flatMap(\.tokens)
    }
}
#endif
