#if DurableJobs
import Operations
import Testing

@testable import DurableJobs

/// The stored form of back-offs.
struct BackoffTextTests {
    @Test func theUsualBackoffNeedsNoText() throws {
        let options = try JobOptions([.retry(3)])
        #expect(BackoffText.encode(options.backoff) == nil)
        let waits = (0..<100).map { _ in BackoffText.wait(nil, beforeRetry: 3) }
        // Evenly spread between nothing and four seconds.
        #expect(waits.allSatisfy { $0 <= .seconds(4) })
        #expect(waits.contains { $0 > .seconds(1) })
    }

    @Test(arguments: [
        RetryBackoff.none, .constant(.milliseconds(20)),
        .exponential(from: .seconds(2), max: .seconds(3600), jitter: .none),
    ])
    func otherBackoffsAreStored(_ backoff: RetryBackoff) throws {
        let text = try #require(BackoffText.encode(backoff))
        // The order of the members is that of their names, in each process.
        #expect(text.hasPrefix("{\"jitter\""))
        for number in 1...5 {
            #expect(
                BackoffText.wait(text, beforeRetry: number) == backoff.wait(beforeRetry: number))
        }
    }
}
#endif
