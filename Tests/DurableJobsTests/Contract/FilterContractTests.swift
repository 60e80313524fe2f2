#if DurableJobs
import Operations
import Testing

@testable import DurableJobs

/// Calls that are about all jobs with some properties.
@Suite(.timeLimit(.minutes(5)))
struct FilterContractTests {
    @Test(arguments: StoreKind.allCases)
    func eachConditionCounts(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let other = try queue.queue("other")
            let elsewhere = try await other.enqueue(Echo(text: "elsewhere"), .exclusive(by: "a"))
            let plain = try await queue.enqueue(Echo(text: "plain"))
            let exclusive = try await queue.enqueue(Echo(text: ""), .exclusive(by: "a"))
            let unique = try await queue.enqueue(Flaky(failures: 0), .unique(by: "a"))
            let batch = try await queue.enqueue(each: 0..<3) { Echo(text: "\($0)") }
            let later = try await queue.enqueue(Echo(text: ""), .delay(.seconds(60)))

            #expect(try await queue.cancelAll(where: JobFilter(name: "echo", key: "a")) == 1)
            #expect(try await queue.info(exclusive.id)?.state == .cancelled)
            #expect(try await queue.cancelAll(where: JobFilter(key: "a")) == 1)
            #expect(try await queue.info(unique.id)?.state == .cancelled)
            #expect(try await queue.cancelAll(where: JobFilter(batch: batch.id)) == 3)
            #expect(try await batch.counts.cancelled == 3)
            #expect(try await queue.cancelAll(where: JobFilter(states: [.scheduled])) == 1)
            #expect(try await queue.info(later.id)?.state == .cancelled)
            #expect(try await queue.cancelAll(where: JobFilter(states: [.completed])) == 0)
            #expect(try await queue.cancelAll(where: JobFilter(), because: "all") == 1)
            #expect(try await queue.info(plain.id)?.error == "all")
            #expect(try await queue.info(elsewhere.id)?.state == .available)

            #expect(try await queue.retryAll(where: JobFilter(error: "ALL")) == 0)
            #expect(try await queue.retryAll(where: JobFilter(error: "al")) == 1)
            #expect(try await queue.retryAll(where: JobFilter(name: "echo", batch: batch.id)) == 3)
            #expect(try await queue.retryAll(where: JobFilter()) == 3)
            #expect(try await queue.counts() == [.available: 7])
        }
    }

    /// Scheduled jobs are retried only if the filter names their state.
    @Test(arguments: StoreKind.allCases)
    func scheduledJobsWaitForTheirTime(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            try await queue.enqueue(Echo(text: ""), .delay(.seconds(60)))
            #expect(try await queue.retryAll(where: JobFilter()) == 0)
            #expect(try await queue.retryAll(where: JobFilter(states: [.scheduled])) == 1)
            #expect(try await queue.counts() == [.available: 1])
        }
    }

    /// More than one transaction, with jobs that depend on each other, one that runs, and a gap in
    /// the numbers that is wider than what a transaction looks at.
    @Test(arguments: StoreKind.allCases)
    func manyJobsTakeSeveralTransactions(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let wait = Wait()
            let running = try await queue.enqueue(wait)
            try await withWorker(queue, [Wait.self]) { _ async throws in
                #expect(await wait.hasStarted)
                let first = try await queue.enqueue((0..<450).map { Echo(text: "\($0)") })
                let next = try await queue.enqueue(Echo(text: "next"), after: first[449])
                let last = try await queue.enqueue(Echo(text: "last"))
                try await queue.change(
                    "UPDATE durable_job SET id = id + 100000 WHERE id = ?",
                    .integer(last.id.rawValue))
                // The dependent is cancelled by the end of its dependency.
                let count = try await queue.cancelAll(where: JobFilter(), because: "enough")
                #expect(count == 452 || count == 453)
                await #expect(throws: JobCancellation.self) { try await running.value }
                #expect(try await queue.counts() == [.cancelled: 453])
                #expect(try await queue.retryAll(where: JobFilter(name: "echo")) == 452)
                #expect(try await queue.info(next.id)?.state == .blocked)
            }
        }
    }

    @Test func keyWithoutAStoredFormIsRefused() async throws {
        try await withQueue(.file) { queue async throws in
            await #expect(throws: JobError.self) {
                try await queue.cancelAll(where: JobFilter(key: Set([1, 2])))
            }
        }
    }
}
#endif
