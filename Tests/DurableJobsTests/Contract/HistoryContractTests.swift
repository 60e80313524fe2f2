#if DurableJobs
import Operations
import OperationsRuntime
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import DurableJobs

/// What becomes of jobs that have ended, and which queue decides about it.
@Suite(.timeLimit(.minutes(5)))
struct HistoryContractTests {
    /// Lets all ends of jobs, so far, be an hour old.
    private func age(_ queue: JobQueue, _ table: String = "durable_job") async throws {
        try await queue.change("UPDATE \(table) SET ended_at = ended_at - 3600000")
    }

    @Test(arguments: StoreKind.allCases)
    func historyBelongsToOneQueue(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let other = try queue.queue("other")
            let (mine, theirs) = (
                try await queue.enqueue(Echo(text: "")), try await other.enqueue(Echo(text: ""))
            )
            try await Ghost(queue).complete(1, with: "mine")
            try await Ghost(other).complete(1, with: "theirs")
            try await age(queue)
            #expect(try await queue.prune(endedFor: .seconds(60)) == 1)
            #expect(try await queue.counts() == [:])
            #expect(try await other.counts() == [.completed: 1])
            // The archive of the other queue stays, too.
            #expect(try await other.prune(endedFor: .seconds(60)) == 1)
            #expect(try await queue.rowCount("durable_job_archive") == 2)
            try await queue.prune(endedFor: .seconds(60), archivingFor: .seconds(60))
            #expect(try await queue.rowCount("durable_job_archive") == 1)
            #expect(try await theirs.value == "theirs")
            #expect(try await queue.info(mine.id) == nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func theLimitOfDeathsBelongsToOneQueue(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let other = try queue.queue("other")
            let theirs = try await other.enqueue(Echo(text: ""), .deadline(in: .seconds(3600)))
            let ghost = try await Ghost(other)
            #expect(try await ghost.claim().count == 1)
            try await ghost.die()
            #expect(try await queue.store.rescue(in: "tests", deathLimit: 1) == 0)
            #expect(try await queue.info(theirs.id)?.state == .running)
            #expect(try await other.store.rescue(in: "other", deathLimit: 3) == 1)
            #expect(try await queue.info(theirs.id)?.state == .available)
            try await queue.change("UPDATE durable_job SET deadline = 1")
            #expect(try await queue.store.discardOverdue(in: "tests") == 0)
            #expect(try await queue.store.discardOverdue(in: "other") == 1)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func manyOldJobsLeaveInPortions(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let count = 2 * JobStore.prunedPortion + 3
            try await queue.enqueue((0..<count).map { Echo(text: "\($0)") })
            try await Ghost(queue).complete(count)
            try await age(queue)
            #expect(try await queue.prune(endedFor: .seconds(60)) == count)
            #expect(try await queue.rowCount("durable_job_archive") == count)
            try await queue.prune(endedFor: .seconds(60), archivingFor: .seconds(60))
            #expect(try await queue.rowCount("durable_job_archive") == 0)
        }
    }

    /// The other steps of maintenance wait for this one, and so does a worker that stops.
    @Test(arguments: StoreKind.allCases)
    func aWorkerMovesSomeOldJobsAtATime(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let (turn, rest) = (JobWorker.historyPortions * JobStore.prunedPortion, 3)
            try await queue.enqueue((0..<2 * turn + rest).map { Echo(text: "\($0)") })
            try await Ghost(queue).complete(2 * turn + rest)
            try await age(queue)
            var options = JobWorker.Options()
            options.history = .seconds(60)
            let worker = JobWorker(
                queue, performing: [Echo.self], on: OperationQueue(), options: options)
            #expect(try await !worker.moveHistory())
            #expect(try await queue.rowCount("durable_job_archive") == turn)
            worker.lease.withLock { $0.isOver = true }
            #expect(try await !worker.moveHistory())
            #expect(try await queue.rowCount("durable_job_archive") == turn)
            worker.lease.withLock { $0.isOver = false }
            #expect(try await !worker.moveHistory())
            #expect(try await worker.moveHistory())
            #expect(try await queue.rowCount("durable_job_archive") == 2 * turn + rest)
        }
    }

    /// A look through millions of archived rows, each minute, would delay everything else.
    @Test(arguments: StoreKind.allCases)
    func theArchiveIsCleanedByAnIndex(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let plan = try await queue.store.database.transaction(.relaxed) { session in
                let values = [SQLValue.text("tests"), .integer(0)]
                let explain = kind == .file ? "EXPLAIN QUERY PLAN" : "EXPLAIN"
                if kind != .file { _ = try session.query("SET LOCAL enable_seqscan = off") }
                return try session.query("\(explain) \(JobStore.oldestArchived)", values)
                    .flatMap(\.values).map { "\($0)" }
            }
            #expect(plan.contains { $0.contains("durable_job_archive_ended") }, "\(plan)")
            #expect(!plan.contains { $0.contains("Seq Scan") || $0.contains("Sort") })
        }
    }
}
#endif
