#if DurableJobs
import Operations
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import DurableJobs

/// What an operator looks at: pages of jobs, queues and workers.
@Suite(.timeLimit(.minutes(5)))
struct OverviewContractTests {
    /// Reads all pages of a list.
    private func all(
        _ page: (JobID?) async throws -> JobPage
    ) async throws -> (ids: [JobID], pages: Int) {
        var (ids, pages): ([JobID], Int) = ([], 0)
        var next: JobID?
        repeat {
            let page = try await page(next)
            ids += page.map(\.id)
            pages += 1
            next = page.next
        } while next != nil
        return (ids, pages)
    }

    @Test(arguments: StoreKind.allCases)
    func jobsAreFoundByTheirErrors(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let ids = try await queue.enqueue((0..<4).map { Echo(text: "\($0)") }).map(\.id)
            let ghost = try await Ghost(queue)
            let errors = ["100% of a_b!", "1000 of axb", "Timeout", "a 'quote'"]
            let claimed = try await ghost.claim(4)
            _ = try await ghost.exchange(
                zip(claimed, errors).map { EndedAttempt($0.token, .discarded(error: $1)) })
            for (part, expected) in [
                ("100% of", [0]), ("a_b", [0]), ("b!", [0]), ("100", [0, 1]), ("'quote'", [3]),
                ("Timeout", [2]), ("nothing", []), ("", [0, 1, 2, 3]),
            ] {
                let found = try await queue.list(error: part, order: .newestFirst).map(\.id)
                #expect(found == expected.reversed().map { ids[$0] }, "\(part)")
            }
            #expect(try await queue.list(states: [.available], error: "Timeout").isEmpty)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func jobsAreFoundByBatchTimeAndKey(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let old = try await queue.enqueue((0..<3).map { Echo(text: "\($0)") }).map(\.id)
            try await queue.change("UPDATE durable_job SET enqueued_at = enqueued_at - 86400000")
            let batch = try await queue.enqueue(each: 0..<5) { Echo(text: "\($0)") }
            let keyed = try await queue.enqueue(Echo(text: "key"), .unique(by: ["k", "1"])).id
            let inBatch = try await all {
                try await queue.list(batch: batch.id, after: $0, limit: 2)
            }
            #expect(inBatch.ids.count == 5)
            #expect(Set(inBatch.ids).isDisjoint(with: old + [keyed]))
            #expect(try await queue.list(batch: batch.id + 1).isEmpty)
            #expect(try await queue.list().first { $0.id == inBatch.ids[0] }?.batch == batch.id)

            let hour = Date(milliseconds: try await queue.store.now() - 3_600_000)
            #expect(try await queue.list(since: hour).map(\.id) == inBatch.ids + [keyed])
            let newest = try await all {
                try await queue.list(since: hour, order: .newestFirst, after: $0, limit: 4)
            }
            #expect(newest.ids == ([keyed] + inBatch.ids.reversed()))
            #expect(try await queue.list(since: .distantPast).count == 9)
            #expect(try await queue.list(since: .distantFuture).isEmpty)

            #expect(try await queue.list(name: "echo", key: ["k", "1"]).map(\.id) == [keyed])
            #expect(try await queue.list(name: "echo", key: ["k", "2"]).isEmpty)
            #expect(try await queue.list(name: "note", key: ["k", "1"]).isEmpty)
            #expect(
                try await queue.list(states: [.completed], name: "echo", key: ["k", "1"]).isEmpty)
            try await Ghost(queue).complete(9)
            let again = try await queue.enqueue(Echo(text: "key"), .unique(by: ["k", "1"])).id
            let both = try await all {
                try await queue.list(
                    name: "echo", key: ["k", "1"], order: .newestFirst, after: $0, limit: 1)
            }
            #expect(both.ids == [again, keyed] && both.pages == 2)
            let error = await #expect(throws: JobError.self) { try await queue.list(key: "k") }
            #expect(error?.description.contains("write the name of the type") == true)
        }
    }

    /// A page looks at a limited number of jobs, and says where the next one goes on.
    @Test(arguments: StoreKind.allCases)
    func pageWithoutJobsIsNotTheLast(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let count = JobStore.looksOfAPage * 5 / 2
            let ids = try await queue.enqueue((0..<count).map { Echo(text: "\($0)") }).map(\.id)
            for id in [ids[0], ids[count - 1]] {
                try await queue.change(
                    "UPDATE durable_job SET error = 'rare' WHERE id = ?", .integer(id.rawValue))
            }
            let first = try await queue.list(error: "rare")
            #expect(first.map(\.id) == [ids[0]])
            #expect(first.next == ids[JobStore.looksOfAPage - 1])
            let found = try await all { try await queue.list(error: "rare", after: $0) }
            #expect(found.ids == [ids[0], ids[count - 1]] && found.pages == 3)
            let one = try await all { try await queue.list(error: "rare", after: $0, limit: 1) }
            #expect(one.ids == found.ids)
            let newest = try await all {
                try await queue.list(error: "rare", order: .newestFirst, after: $0)
            }
            #expect(newest.ids == found.ids.reversed())
        }
    }

    @Test(arguments: StoreKind.allCases)
    func jobTellsWhatHasHappened(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let handle = try await queue.enqueue(Echo(text: ""), .retry(3))
            var info = try #require(try await queue.info(handle.id))
            #expect(info.queue == "tests")
            #expect(info.failures == 0 && info.retriesLeft == 3 && info.deaths == 0)
            #expect(info.runAt == nil && info.runTime == nil && info.batch == nil)
            let ghost = try await Ghost(queue)
            var claimed = try #require(try await ghost.claim().first)
            _ = try await ghost.exchange([
                EndedAttempt(claimed.token, .retry(error: "e", after: .seconds(600)))
            ])
            info = try #require(try await queue.info(handle.id))
            #expect(info.failures == 1 && info.retriesLeft == 2)
            let wait = try #require(info.runAt).timeIntervalSince1970 * 1000
            #expect(abs(wait - Double(try await queue.store.now()) - 600_000) < 60_000)
            try await queue.retry(handle.id)
            claimed = try #require(try await ghost.claim().first)
            _ = try await ghost.die()
            _ = try await queue.store.rescue(in: "tests")
            #expect(try await queue.info(handle.id)?.deaths == 1)
            let other = try await Ghost(queue)
            claimed = try #require(try await other.claim().first)
            try await queue.change("UPDATE durable_job SET started_at = started_at - 5000")
            _ = try await other.exchange([EndedAttempt(claimed.token, other.result(""))])
            info = try #require(try await queue.info(handle.id))
            #expect(info.retriesLeft == 0 && info.runAt == nil)
            #expect(try #require(info.runTime) >= .seconds(5))
            #expect(try #require(info.runTime) < .seconds(60))
        }
    }

    @Test(arguments: StoreKind.allCases)
    func queuesAreThoseWithJobsWorkersOrSchedules(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            #expect(try await queue.queues().isEmpty)
            try await queue.queue("jobs").enqueue([Echo(text: "a"), Echo(text: "b")])
            try await queue.queue("jobs").enqueue(Echo(text: "c"), .delay(.seconds(600)))
            try await queue.queue("schedule").schedule("s", .every(.seconds(60))) {
                Echo(text: "")
            }
            let ghost = try await Ghost(try queue.queue("worker"))
            let running = try queue.queue("running")
            try await running.enqueue(Echo(text: ""))
            let second = try await Ghost(running)
            _ = try await second.claim()
            let failed = try queue.queue("failed")
            try await failed.enqueue(Echo(text: ""))
            let third = try await Ghost(failed)
            let token = try #require(try await third.claim().first).token
            _ = try await third.exchange([EndedAttempt(token, .discarded(error: ""))])
            try await third.loseLease()
            let queues = try await queue.queues()
            #expect(queues.map(\.name) == ["failed", "jobs", "running", "schedule", "worker"])
            #expect(queues.map(\.workers) == [0, 0, 1, 0, 1])
            #expect(queues.map(\.discarded) == [1, 0, 0, 0, 0])
            #expect(
                queues.map(\.counts) == [
                    [:], [.available: 2, .scheduled: 1], [.running: 1], [:], [:],
                ])
            try await ghost.loseLease()
            #expect(try await queue.queues().map(\.name).contains("worker") == false)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func workersTellWhatTheyHold(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            #expect(try await queue.workers().isEmpty)
            let job = Wait()
            let handle = try await queue.enqueue(job)
            try await withWorker(queue, [Wait.self, Echo.self], width: 3) { worker async throws in
                #expect(await job.hasStarted)
                var workers = try await queue.workers()
                #expect(workers.count == 1)
                let found = try #require(workers.first)
                #expect(found.host == Machine.host && found.process == Machine.process)
                #expect(found.width == 3 && found.types == ["wait": 1, "echo": 1])
                #expect(found.jobs == [handle.id])
                #expect(!found.isStopping && !found.isMissing)
                // One without a lease that holds a job, and one that holds none.
                try await queue.enqueue(Flaky(failures: 0))
                let dead = try await Ghost(queue, performing: ["flaky"])
                _ = try await dead.claim()
                let idle = try await Ghost(queue, performing: ["flaky"])
                try await dead.loseLease()
                try await idle.loseLease()
                workers = try await queue.workers()
                #expect(workers.count <= 2)
                // The worker may have rescued the job meanwhile.
                if workers.count == 2 {
                    #expect(workers[1].id == dead.id && workers[1].isMissing)
                    #expect(workers[1].jobs.count == 1)
                }
                worker.stop()
                while try await queue.workers().first?.isStopping != true { await Task.yield() }
                job.goOn()
            }
            #expect(try await queue.workers().allSatisfy { $0.isMissing })
        }
    }

    /// A million jobs in the queue: half of them completed, the others in the other states.
    @Test(
        .enabled(
            if: ProcessInfo.processInfo.environment["OPERATIONS_NIGHT"] == "1",
            "takes a minute"),
        arguments: StoreKind.allCases)
    func pageOverAMillionJobsTakesATenthOfASecond(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            try await queue.store.database.transaction(.relaxed) { session in
                let numbers =
                    kind == .file
                    ? """
                    (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n
                        WHERE i < 1000000) SELECT i FROM n)
                    """ : "(SELECT i FROM generate_series(1, 1000000) AS g(i))"
                _ = try session.query(
                    """
                    INSERT INTO durable_job (queue, name, version, arguments, state, rank,
                        base_rank, position, retry_limit, pending, is_wide, enqueued_at, batch,
                        error, started_at, ended_at)
                    SELECT 'tests', CASE i % 3 WHEN 0 THEN 'echo' WHEN 1 THEN 'note'
                        ELSE 'flaky' END, 1, CAST('{}' AS {bytes}),
                        CASE WHEN i % 2 = 0 THEN 10 WHEN i % 5 = 0 THEN 12 WHEN i % 7 = 0 THEN 4
                        WHEN i % 11 = 0 THEN 1 ELSE 2 END,
                        0, 0, i, 0, 0, 0, {now} - 1000000 + i, i / 1000,
                        CASE WHEN i % 5 = 0 THEN 'error ' || i END, {now}, {now}
                    FROM \(numbers) AS numbers
                    """)
            }
            if kind != .file {
                try await queue.change("ANALYZE durable_job")
            }
            let now = Date(milliseconds: try await queue.store.now())
            let calls: [(String, () async throws -> Void)] = [
                ("all", { _ = try await queue.list() }),
                ("newest", { _ = try await queue.list(order: .newestFirst) }),
                ("middle", { _ = try await queue.list(after: JobID(500_000)) }),
                ("state", { _ = try await queue.list(states: [.discarded], order: .newestFirst) }),
                ("name", { _ = try await queue.list(states: [.available], name: "note") }),
                ("error", { _ = try await queue.list(error: "error 999", order: .newestFirst) }),
                ("rare", { _ = try await queue.list(error: "nowhere") }),
                (
                    "few before many",
                    { _ = try await queue.list(states: [.scheduled], after: JobID(999_900)) }
                ),
                ("batch", { _ = try await queue.list(batch: 700) }),
                (
                    "since",
                    { _ = try await queue.list(since: now.addingTimeInterval(-60)) }
                ),
                ("key", { _ = try await queue.list(name: "echo", key: "none") }),
                ("queues", { _ = try await queue.queues() }),
                ("workers", { _ = try await queue.workers() }),
            ]
            for (name, call) in calls {
                var least = Duration.seconds(100)
                for _ in 0..<5 {
                    let start = ContinuousClock.now
                    try await call()
                    least = min(least, .now - start)
                }
                print("\(kind.rawValue) \(name): \(least.milliseconds) ms")
                #expect(least < .milliseconds(100), "\(name)")
            }
        }
    }
}
#endif
