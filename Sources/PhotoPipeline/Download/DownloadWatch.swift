#if PhotoPipeline
import Synchronization

/// Ends a part of a download that exceeds its time limits.
///
/// A server can hold a connection with a few bytes a second, so the silence is not the only
/// measure. libcurl's own limits are not enough: they do not tell the time until the response
/// begins from a silence in its middle, and an interim response counts as bytes.
final class DownloadWatch: Sendable {
    /// The limit that was exceeded.
    enum Expiry: Error, Equatable {
        case firstByte
        case idle
        case rate
        case total
    }

    private let limits: DownloadLimits
    private let end: ContinuousClock.Instant
    private let state: Mutex<State>

    private struct State {
        var deadline: ContinuousClock.Instant
        var expiry: Expiry
        /// Nil until the head of the response has arrived.
        var rate: DownloadRate?
    }

    /// - Parameter remaining: the time left for the whole attempt.
    private init(limits: DownloadLimits, remaining: Duration) {
        self.limits = limits
        let now = ContinuousClock.now
        end = now + remaining
        state = Mutex(State(deadline: now + limits.firstByteTimeout, expiry: .firstByte))
    }

    /// Restarts the idle limit after the head of the response or a part of its body has arrived.
    ///
    /// - Parameter count: the number of bytes of the body.
    func bytesArrived(_ count: Int) {
        state.withLock { state in
            let now = ContinuousClock.now
            (state.deadline, state.expiry) = (now + limits.idleTimeout, .idle)
            if state.rate == nil {
                state.rate = DownloadRate(
                    minimum: limits.minimumRate, window: limits.rateWindow, begun: now)
            }
            state.rate?.bytesArrived(count)
        }
    }

    /// Runs a closure within the limits.
    ///
    /// - Throws: ``Expiry`` if the closure took too long and was cancelled, or the error of the
    ///   closure.
    static func run<Value: Sendable>(
        limits: DownloadLimits, remaining: Duration,
        _ body: @escaping @Sendable (DownloadWatch) async throws -> Value
    ) async throws -> Value {
        let watch = DownloadWatch(limits: limits, remaining: remaining)
        return try await withThrowingTaskGroup(of: Value.self) { group in
            group.addTask { try await body(watch) }
            group.addTask { try await watch.expire() }
            defer { group.cancelAll() }
            guard let value = try await group.next() else { throw CancellationError() }
            return value
        }
    }

    /// Waits until the first of the limits expires.
    private func expire() async throws -> Never {
        while true {
            let now = ContinuousClock.now
            let (deadline, expiry, windowEnd) = try state.withLock { state in
                if state.rate?.isTooLow(at: now) == true { throw Expiry.rate }
                return (
                    state.deadline, state.expiry, state.rate?.windowEnd ?? now + limits.rateWindow
                )
            }
            let (next, reason) = deadline < end ? (deadline, expiry) : (end, .total)
            if next <= now { throw reason }
            // New bytes may set an earlier deadline, but none before this time.
            try await Task.sleep(
                until: min(next, now + limits.idleTimeout, windowEnd), clock: .continuous)
        }
    }
}
#endif
