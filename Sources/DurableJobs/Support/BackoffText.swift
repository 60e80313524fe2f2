#if DurableJobs
import FoundationEssentials
import Operations

/// The stored form of a back-off.
enum BackoffText {
    static func encode(_ backoff: RetryBackoff) -> String? {
        (try? JSONEncoder().encode(backoff)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the wait before a retry; no wait if the text is not readable.
    ///
    /// - Parameter number: 1 for the first retry.
    static func wait(_ text: String?, beforeRetry number: Int) -> Duration {
        guard let text,
            let backoff = try? JSONDecoder().decode(RetryBackoff.self, from: Data(text.utf8))
        else { return .zero }
        return backoff.wait(beforeRetry: number)
    }
}
#endif
