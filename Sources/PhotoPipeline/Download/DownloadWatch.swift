import Synchronization

/// Ends a piece of a download that takes longer than its limits allow.
///
/// The HTTP client's own limits are not enough: its deadline ends with the head of an answer, and its
/// limit for silence is renewed by every interim answer.
final class DownloadWatch: Sendable {
    /// Which limit was exceeded.
    enum Expiry: Error, Equatable {
        case firstByte
        case idle
        case total
    }

    private let limits: DownloadLimits
    private let end: ContinuousClock.Instant
    private let state: Mutex<(deadline: ContinuousClock.Instant, expiry: Expiry)>

    /// - Parameter remaining: what is left of the whole attempt's time.
    private init(limits: DownloadLimits, remaining: Duration) {
        self.limits = limits
        let now = ContinuousClock.now
        end = now + remaining
        state = Mutex((now + limits.firstByteTimeout, .firstByte))
    }

    /// The head of the answer or a part of its body has come.
    func bytesArrived() {
        state.withLock { $0 = (.now + limits.idleTimeout, .idle) }
    }

    /// Runs a closure for as long as the limits allow.
    ///
    /// - Throws: ``Expiry`` if the closure took longer and was cancelled, or what the closure throws.
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

    /// Waits for the first of the limits to be exceeded.
    private func expire() async throws -> Never {
        while true {
            let (deadline, expiry) = state.withLock { $0 }
            let (next, reason) = deadline < end ? (deadline, expiry) : (end, .total)
            let now = ContinuousClock.now
            if next <= now { throw reason }
            // Bytes that arrive meanwhile may bring an earlier deadline, but none before this one.
            try await Task.sleep(until: min(next, now + limits.idleTimeout), clock: .continuous)
        }
    }
}
