import Synchronization

/// Spreads the requests to each host, so that there is a minimum time between their starts.
final class RequestPace: Sendable {
    typealias Instant = ContinuousClock.Instant

    private let interval: Duration
    /// The earliest start of the next request to each host.
    private let next = Mutex<[String: Instant]>([:])

    private static let hostLimit = 1_000

    /// - Parameter interval: the minimum time between two starts; zero for no minimum.
    init(interval: Duration) { self.interval = interval }

    /// Takes the next start for a request to a host; returns the time until then.
    ///
    /// A request that is cancelled before its start leaves a gap.
    func delay(at host: String, now: Instant = .now) -> Duration {
        guard interval > .zero else { return .zero }
        return next.withLock { next in
            // A host whose next start has passed needs no entry.
            if next.count >= Self.hostLimit { next = next.filter { $0.value > now } }
            let start = max(now, next[host] ?? now)
            next[host] = start + interval
            return start - now
        }
    }
}
