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

    private func age(_ queue: JobQueue, days: Int64) async throws {
        try await queue.change(
            "UPDATE durable_job SET ended_at = ended_at - ?", .integer(days * 86_400_000))
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
            #expect(try await queue.store.rescue(in: "tests", deathLimit: 1).count == 0)
            #expect(try await queue.info(theirs.id)?.state == .running)
            #expect(try await other.store.rescue(in: "other", deathLimit: 3).count == 1)
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

    private func plan(
        of statement: String, _ values: [SQLValue], _ kind: StoreKind, _ queue: JobQueue
    ) async throws -> [String] {
        try await queue.store.database.transaction(.relaxed) { session in
            let explain = kind == .file ? "EXPLAIN QUERY PLAN" : "EXPLAIN"
            if kind != .file { _ = try session.query("SET LOCAL enable_seqscan = off") }
            return try session.query("\(explain) \(statement)", values)
                .flatMap(\.values).map { "\($0)" }
        }
    }

    // MARK: Dead letters

    /// Lets the attempt of the only available job fail for good.
    private func discard(_ queue: JobQueue) async throws {
        let ghost = try await Ghost(queue)
        let claimed = try #require(try await ghost.claim().first)
        let answer = try await ghost.exchange([
            EndedAttempt(claimed.token, .discarded(error: "the server was down"))
        ])
        try #require(answer.verdicts == [.accepted(.discarded)])
    }

    /// What fails on Friday evening is there on Monday, with its arguments, and can be retried.
    @Test(arguments: StoreKind.allCases)
    func aDiscardedJobOutlivesTheHistory(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let done = try await queue.enqueue(Echo(text: "done"))
            try await Ghost(queue).complete(1, with: "done")
            let job = try await queue.enqueue(Echo(text: "Friday"))
            let dependent = try await queue.enqueue(Join(parts: [job]), after: job)
            let last = try await queue.enqueue(Join(parts: [dependent]), after: dependent)
            try await discard(queue)
            try await queue.store.resolveRest()
            try await age(queue, days: 3)
            let worker = JobWorker(queue, performing: [Echo.self], on: OperationQueue())
            #expect(try await worker.moveHistory())
            #expect(try await queue.list(states: [.completed]).isEmpty)
            let listed = try await queue.list(states: [.discarded])
            #expect(listed.map(\.id) == [job.id])
            #expect(try listed.first?.job(as: Echo.self)?.text == "Friday")
            // The jobs that it took with it can be retried together with it.
            let all = [job.id, dependent.id, last.id]
            #expect(try await queue.retryAll(all) == Set(all))
            let types: [any Job.Type] = [Echo.self, Join.self]
            try await withWorker(queue, types) { _ async throws in
                #expect(try await last.value == "Friday")
                #expect(try await done.value == "done")
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func theOptionSaysHowLongDiscardedJobsStay(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let job = try await queue.enqueue(Echo(text: ""))
            try await discard(queue)
            try await age(queue, days: 3)
            var options = JobWorker.Options()
            (options.history, options.discardedHistory) = (.seconds(4 * 86_400), .zero)
            func move() async throws {
                let worker = JobWorker(
                    queue, performing: [Echo.self], on: OperationQueue(), options: options)
                #expect(try await worker.moveHistory())
            }
            // Never less than the history of all jobs.
            try await move()
            #expect(try await queue.list(states: [.discarded]).map(\.id) == [job.id])
            options.history = .zero
            try await move()
            #expect(try await queue.list(states: [.discarded]).isEmpty)
            #expect(try await queue.info(job.id)?.error == "the server was down")
            #expect(try await !queue.retry(job.id))
        }
    }

    /// A transaction that moves jobs does not pass over those that stay. Nor does it move more jobs
    /// because they are of two kinds.
    @Test(arguments: StoreKind.allCases)
    func bothKindsOfEndedJobsAreFoundByAnIndex(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            for (condition, index) in [
                (JobSchema.isSettled, "durable_job_ended"),
                (JobSchema.isDeadLetter, "durable_job_dead_letter"),
            ] {
                let values = [SQLValue.text("tests"), .integer(0), .integer(100)]
                let plan = try await plan(
                    of: JobStore.oldestEnded(condition), values, kind, queue)
                #expect(plan.contains { $0.contains(index) }, "\(plan)")
                #expect(!plan.contains { $0.contains("Seq Scan on durable_job ") }, "\(plan)")
            }
            let count = JobStore.prunedPortion - 1
            try await queue.enqueue((0..<2 * count).map { Echo(text: "\($0)") })
            try await Ghost(queue).complete(count)
            try await queue.change(
                "UPDATE durable_job SET state = 12, ended_at = 1 WHERE state = 2")
            try await age(queue, days: 3)
            let progress = try await queue.store.prune(
                in: "tests", endedFor: .zero, discardedFor: .zero, keepingFor: .seconds(60),
                portions: 1)
            #expect(progress == PruneProgress(moved: JobStore.prunedPortion, isDone: false))
        }
    }

    /// A look through millions of archived rows, each minute, would delay everything else.
    @Test(arguments: StoreKind.allCases)
    func theArchiveIsCleanedByAnIndex(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let plan = try await plan(
                of: JobStore.oldestArchived, [.text("tests"), .integer(0)], kind, queue)
            #expect(plan.contains { $0.contains("durable_job_archive_ended") }, "\(plan)")
            #expect(!plan.contains { $0.contains("Seq Scan") || $0.contains("Sort") })
        }
    }
}
#endif
