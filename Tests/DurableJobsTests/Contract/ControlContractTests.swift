#if DurableJobs
import DurableJobs
import Operations
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

@Suite(.timeLimit(.minutes(5)))
struct ControlContractTests {
    @Test(arguments: StoreKind.allCases)
    func runningJobIsCancelled(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let job = Wait()
            let handle = try await queue.enqueue(job)
            try await withWorker(queue, [Wait.self]) { _ async throws in
                #expect(await job.hasStarted)
                #expect(try await queue.explain(handle.id).contains("it runs, or waits for a slot"))
                #expect(try await queue.cancel(handle.id, because: "enough") == .running)
                let error = await #expect(throws: JobCancellation.self) { try await handle.value }
                #expect(error?.reason == "enough")
            }
            #expect(try await queue.info(handle.id)?.state == .cancelled)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func discardedJobCanBeRetried(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let handle = try await queue.enqueue(Flaky(failures: 1))
            try await withWorker(queue, [Flaky.self]) { _ async throws in
                await #expect(throws: JobFailure.self) { try await handle.value }
                #expect(try await queue.retry(handle.id))
                #expect(try await handle.value == 2)
                #expect(try await !queue.retry(handle.id))
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func manyJobsAreCancelledAndRetriedTogether(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let batch = try await queue.enqueue((0..<450).map { Echo(text: "\($0)") })
            let ids = batch.map(\.id)
            let unknown = JobID(1_000_000)
            let states = try await queue.cancelAll(ids + [unknown], because: "the album is gone")
            #expect(states.count == 450 && states.values.allSatisfy { $0 == .cancelled })
            #expect(try await queue.counts() == [.cancelled: 450])
            #expect(try await queue.retryAll(ids + [unknown]) == Set(ids))
            #expect(try await queue.retryAll(ids).isEmpty)
            #expect(try await queue.counts() == [.available: 450])
        }
    }

    /// A job that waits for another one goes on waiting when it is retried.
    @Test(arguments: StoreKind.allCases)
    func retriedJobWaitsForItsDependencies(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let first = try await queue.enqueue(Echo(text: "first"))
            let second = try await queue.enqueue(Join(parts: [first]), after: first)
            try await queue.cancel(second.id)
            #expect(try await queue.retry(second.id))
            #expect(try await queue.info(second.id)?.state == .blocked)
            try await withWorker(queue, [Echo.self, Join.self], width: 1) { _ async throws in
                #expect(try await second.value == "first")
            }
        }
    }

    /// The dependency ends while the dependent is cancelled.
    @Test(arguments: StoreKind.allCases)
    func retriedJobCountsTheDependenciesThatHaveEnded(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let parts = try await queue.enqueue([Echo(text: "a"), Echo(text: "b")])
            let join = try await queue.enqueue(Join(parts: parts), after: parts[0], parts[1])
            try await queue.cancel(join.id)
            let ghost = try await Ghost(queue)
            #expect(try await ghost.complete(1, with: "a") == [parts[0].id])
            #expect(try await queue.retry(join.id))
            #expect(try await queue.info(join.id)?.state == .blocked)
            #expect(try await ghost.complete(1, with: "b") == [parts[1].id])
            #expect(try await queue.info(join.id)?.state == .available)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func jobsThatDependOnEachOtherAreRetriedTogether(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let first = try await queue.enqueue(Flaky(failures: 1))
            let second = try await queue.enqueue(Echo(text: "second"), after: first)
            let third = try await queue.enqueue(
                Join(parts: [second]), .priority(.high), after: second)
            let types: [any Job.Type] = [Flaky.self, Echo.self, Join.self]
            try await withWorker(queue, types, width: 1) { _ async throws in
                await #expect(throws: JobCancellation.self) { try await third.value }
                // Alone, it would wait for ever for what has failed.
                #expect(try await !queue.retry(third.id))
                let ids = [third.id, second.id, first.id]
                #expect(try await queue.retryAll(ids) == Set(ids))
                #expect(try await third.value == "second")
            }
        }
    }

    /// Of two jobs with one unique key, only one can run again.
    @Test(arguments: StoreKind.allCases)
    func oneOfTwoJobsWithOneKeyIsRetried(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            var ids: [JobID] = []
            for _ in 0..<2 {
                ids.append(try await queue.enqueue(Echo(text: ""), .unique(by: "key")).id)
                try await queue.cancelAll(ids)
            }
            try #require(Set(ids).count == 2)
            #expect(try await queue.retryAll(ids) == [ids[0]])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func oldJobsAreRaisedOneLevelForEachSpan(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let low = try await queue.enqueue(Echo(text: ""), .priority(.low))
            let high = try await queue.enqueue(Echo(text: ""), .priority(.veryHigh))
            try await queue.store.raiseOld(in: "tests", span: .seconds(3600))
            #expect(try await queue.info(low.id)?.priority == .low)
            // As if the job had waited for a little more than two spans.
            try await queue.store.database.transaction(.durable) {
                _ = try $0.query("UPDATE durable_job SET enqueued_at = enqueued_at - 7300000")
            }
            for _ in 0..<3 { try await queue.store.raiseOld(in: "tests", span: .seconds(3600)) }
            #expect(try await queue.info(low.id)?.priority == .high)
            #expect(try await queue.info(high.id)?.priority == .veryHigh)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func jobsAreListedInParts(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let handles = try await queue.enqueue((0..<5).map { Echo(text: "\($0)") })
            try await queue.enqueue(Flaky(failures: 0), .delay(.seconds(60)))
            let first = try await queue.list(name: "echo", limit: 3)
            #expect(first.map(\.id) == handles.prefix(3).map(\.id))
            let rest = try await queue.list(after: first.last?.id)
            #expect(rest.map(\.name) == ["echo", "echo", "flaky"])
            #expect(try await queue.list(states: [.scheduled]).map(\.name) == ["flaky"])
            #expect(try await queue.counts() == [.available: 5, .scheduled: 1])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func unknownJobsAreNamed(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let id = JobID(99)
            await #expect(throws: JobError.unknownJobs([id])) { try await queue.cancel(id) }
            await #expect(throws: JobError.unknownJobs([id])) { try await queue.explain(id) }
            await #expect(throws: JobError.unknownJobs([id])) {
                try await queue.handle(of: Echo.self, id: id).value
            }
            #expect(try await queue.info(id) == nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func cancelledWaitLeavesTheJob(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let handle = try await queue.enqueue(Echo(text: "stays"))
            let wait = Task { try await handle.value }
            wait.cancel()
            await #expect(throws: CancellationError.self) { try await wait.value }
            #expect(try await queue.info(handle.id)?.state == .available)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func resultOfAnotherTypeIsAnError(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let handle = try await queue.enqueue(Echo(text: "text"))
            try await withWorker(queue, [Echo.self]) { _ async throws in
                _ = try await handle.value
                await #expect(throws: JobError.self) {
                    try await queue.handle(of: Flaky.self, id: handle.id).value
                }
            }
        }
    }

    /// The job fails for good while its cancellation is on its way.
    @Test(arguments: StoreKind.allCases)
    func pendingCancellationKeepsTheError(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let handles = try await queue.enqueue((0..<3).map { Echo(text: "\($0)") })
            let ghost = try await Ghost(queue)
            let claimed = try await ghost.claim(3)
            try await queue.cancelAll(handles.map(\.id), because: "enough")
            let verdicts: [AttemptVerdict] = [
                .discarded(error: "broken"), .retry(error: "busy", after: .zero),
                .cancelled(reason: "enough"),
            ]
            let answer = try await ghost.exchange(
                zip(claimed, verdicts).map { EndedAttempt($0.token, $1) })
            #expect(
                answer.verdicts
                    == [.accepted(.discarded), .accepted(.cancelled), .accepted(.cancelled)])
            var errors: [String?] = []
            for handle in handles { errors.append(try await queue.info(handle.id)?.error) }
            #expect(
                errors == ["broken", "enough; its last attempt ended with: busy", "enough"])
        }
    }
}
#endif
