#if DurableJobs
import Operations

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The stored form of a back-off.
enum BackoffText {
    /// The back-off of `.retry(_:)` for jobs that name no other. Nearly all jobs have it, so it is
    /// stored as NULL.
    static let usual = RetryBackoff.exponential(from: .seconds(1), max: .seconds(3600))

    /// The same back-off has the same text in all processes: the texts of schedules are compared.
    static func encode(_ backoff: RetryBackoff) -> String? {
        guard backoff != usual else { return nil }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return (try? encoder.encode(backoff)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns the wait before a retry; no wait if the text is not readable.
    ///
    /// - Parameter number: 1 for the first retry.
    static func wait(_ text: String?, beforeRetry number: Int) -> Duration {
        guard let text else { return usual.wait(beforeRetry: number) }
        guard let backoff = try? JSONDecoder().decode(RetryBackoff.self, from: Data(text.utf8))
        else { return .zero }
        return backoff.wait(beforeRetry: number)
    }
}
#endif
