import OperationsRuntime

/// How long to wait before work that has failed is tried again.
public struct RetryBackoff: Sendable, Hashable, Codable {
    /// How waits are spread, so that operations that failed together do not retry together.
    public enum Jitter: Sendable, Hashable, Codable {
        /// Waits are not spread.
        case none
        /// Each wait is spread evenly between zero and the whole wait.
        case full
    }

    private enum Kind: Hashable, Codable {
        case constant(Duration)
        case exponential(first: Duration, factor: Double, max: Duration)
    }

    private let kind: Kind
    private let jitter: Jitter

    /// Tries again at once.
    public static let none = constant(.zero)

    /// Waits equally long before each retry.
    public static func constant(_ duration: Duration) -> RetryBackoff {
        RetryBackoff(kind: .constant(duration.limitedToLongestTime), jitter: .none)
    }

    /// Waits longer after each failure.
    ///
    /// The wait before retry *n* = 1, 2, … is `first * factor^(n - 1)`, but never more than `max`;
    /// with full jitter it is a random time between zero and that.
    ///
    /// The formula is "Full Jitter" in M. Brooker, "Exponential Backoff And Jitter", AWS
    /// Architecture Blog, 2015: `sleep = random_between(0, min(cap, base * 2 ** attempt))`, where
    /// attempts are counted from 0.
    ///
    /// - Parameters:
    ///   - first: the longest wait before the first retry.
    ///   - factor: at least 1.
    ///   - max: the longest wait of all. Waits are limited to a century in any case.
    ///   - jitter: how waits are spread.
    public static func exponential(
        from first: Duration = .milliseconds(100), factor: Double = 2, max: Duration = .seconds(60),
        jitter: Jitter = .full
    ) -> RetryBackoff {
        if !(factor >= 1) {
            misuse("a back-off cannot grow by \(factor): use a factor of 1 or more")
        }
        return RetryBackoff(
            kind: .exponential(
                first: first.limitedToLongestTime, factor: factor, max: max.limitedToLongestTime),
            jitter: jitter)
    }

    /// Returns the wait before a retry, with random numbers of the system.
    ///
    /// - Parameter number: 1 for the first retry.
    package func wait(beforeRetry number: Int) -> Duration {
        wait(beforeRetry: number, using: .system)
    }

    /// Returns the wait before a retry.
    ///
    /// - Parameter number: 1 for the first retry.
    func wait(beforeRetry number: Int, using random: RandomSource) -> Duration {
        let longest: Duration
        switch kind {
        case .constant(let duration): longest = duration
        case .exponential(let first, let factor, let max):
            // Multiplied step by step, so that the wait cannot overflow.
            var wait = first
            var step = 1
            while step < number, .zero < wait, wait < max, factor > 1 {
                wait = wait > max / factor ? max : wait * factor
                step += 1
            }
            longest = min(wait, max)
        }
        guard longest > .zero else { return .zero }
        return jitter == .full ? longest * random.fraction() : longest
    }
}
