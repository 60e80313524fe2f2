#if DurableJobs
import DurableJobFiles
import Operations
import Testing

@testable import DurableJobs

/// Lists and counts, and what they read.
@Suite(.timeLimit(.minutes(5)))
struct ListingContractTests {
    /// Opens a queue with jobs of two types in all states.
    private func withJobsInAllStates(
        _ kind: StoreKind, _ body: (JobQueue) async throws -> Void
    ) async throws {
        try await withQueue(kind) { queue async throws in
            let ghost = try await Ghost(queue, performing: ["echo", "flaky"])
            for number in 0..<3 {
                let ended: [AttemptVerdict] = [
                    ghost.result("\(number)"), .discarded(error: "e"), .cancelled(reason: "r"),
                    .retry(error: "e", after: .seconds(600)),
                ]
                for verdict in ended {
                    try await queue.enqueue(Echo(text: "\(number)"))
                    try await queue.enqueue(Flaky(failures: number))
                    let claimed = try await ghost.claim(2)
                    _ = try await ghost.exchange(claimed.map { EndedAttempt($0.token, verdict) })
                }
            }
            let first = try await queue.enqueue(Echo(text: "runs"))
            try await queue.enqueue(Flaky(failures: 0))
            #expect(try await ghost.claim(2).count == 2)
            for number in 0..<3 {
                try await queue.enqueue(Echo(text: "\(number)"), after: first)
                try await queue.enqueue(Echo(text: "\(number)"), .delay(.seconds(600)))
                try await queue.enqueue(Flaky(failures: 0), .exclusive(by: "key"))
            }
            try await body(queue)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func listsHaveTheJobsOfTheirStatesAndNamesInOrder(_ kind: StoreKind) async throws {
        try await withJobsInAllStates(kind) { queue async throws in
            let all = try await queue.list(limit: 1_000)
            #expect(Set(all.map(\.state)) == Set(JobState.allCases))
            let states: [[JobState]] =
                [[]] + JobState.allCases.map { [$0] }
                + [[.running, .completed, .available], [.discarded, .discarded]]
            for states in states {
                for name in [nil, "echo", "flaky", "nobody"] {
                    let expected = all.filter {
                        (states.isEmpty || states.contains($0.state))
                            && (name == nil || $0.name == name)
                    }.map(\.id)
                    for order in [JobPage.Order.oldestFirst, .newestFirst] {
                        var found: [JobID] = []
                        var next: JobID?
                        repeat {
                            let page = try await queue.list(
                                states: states, name: name, order: order, after: next, limit: 2)
                            #expect(page.count <= 2)
                            #expect(page.next == nil || page.next == page.last?.id)
                            found += page.map(\.id)
                            next = page.next
                        } while next != nil
                        if order == .newestFirst { found.reverse() }
                        #expect(found == expected, "\(states) \(name ?? "any") \(order)")
                    }
                }
            }
            #expect(try await queue.list(states: [.available], limit: 0).isEmpty)
            let counts = Dictionary(grouping: all, by: \.state).mapValues(\.count)
            #expect(try await queue.counts() == counts)
            let unfinished = counts.filter { !$0.key.isEnded }
            #expect(try await queue.store.depth(of: "tests").counts == unfinished)
        }
    }

    /// A look at all jobs would take a second, if there are a million.
    @Test(arguments: StoreKind.allCases)
    func listsAndCountsUseAnIndex(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            try await queue.enqueue((0..<3_000).map { Note(board: "", line: "\($0)") })
            let plans = try await queue.store.database.transaction(.relaxed) { session in
                if kind != .file { _ = try session.query("ANALYZE durable_job") }
                let explain = kind == .file ? "EXPLAIN QUERY PLAN" : "EXPLAIN"
                let group: [SQLValue] = [
                    .text("tests"), .integer(2), .text("note"), .text("note"), .integer(1_500),
                    .integer(10),
                ]
                let texts = [false, true].map {
                    JobStore.listed(isNewestFirst: $0, session.locksRows)
                }
                return [
                    try session.query("\(explain) \(texts[0])", group),
                    try session.query("\(explain) \(texts[1])", group),
                    try session.query("\(explain) \(JobStore.queueNames)"),
                    try session.query("\(explain) \(JobStore.counted)", [.text("tests")]),
                ].map { rows in rows.flatMap(\.values).map { "\($0)" }.joined(separator: " ") }
            }
            for plan in plans { #expect(plan.contains("durable_job_listed"), "\(plan)") }
        }
    }

    /// All ready jobs but those behind an exclusive key are before the last one.
    @Test(arguments: StoreKind.allCases)
    func readyJobsOfAllTypesAreCountedInTheOrderOfClaims(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            for number in 0..<3 {
                try await queue.enqueue(Echo(text: "\(number)"))
                try await queue.enqueue(Flaky(failures: number), .priority(.low))
            }
            let job = try await queue.enqueue(Echo(text: ""), .priority(.low))
            try await queue.enqueue(Echo(text: ""), .priority(.low))
            #expect(try await queue.store.readyJobs(before: job.id, upTo: 100) == 6)
            #expect(try await queue.store.readyJobs(before: job.id, upTo: 4) == 4)
            #expect(try await queue.store.readyJobs(before: JobID(1), upTo: 4) == 0)
        }
    }

    /// Jobs of several types, and one that waits for its exclusive key.
    @Test(arguments: StoreKind.allCases)
    func oldJobsOfAllTypesAreRaised(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let jobs = [
                try await queue.enqueue(Echo(text: ""), .priority(.low)).id,
                try await queue.enqueue(Echo(text: "first"), .exclusive(by: "key")).id,
                try await queue.enqueue(
                    Echo(text: "parked"), .exclusive(by: "key"), .priority(.low)
                ).id,
                try await queue.enqueue(Flaky(failures: 0), .priority(.low)).id,
            ]
            let ghost = try await Ghost(queue, performing: ["echo"])
            // Parks the third job, because the second one has its key.
            #expect(try await ghost.claim(1).map(\.token.job) == [jobs[1]])
            #expect(try await ghost.claim(3).map(\.token.job) == [jobs[0]])
            _ = try await ghost.die()
            _ = try await queue.store.rescue(in: "tests")
            try await queue.change("UPDATE durable_job SET enqueued_at = enqueued_at - 1500")
            try await queue.change("UPDATE durable_job SET parked = 1 WHERE id = ?", .integer(3))
            #expect(try await queue.store.raiseOld(in: "tests", span: .seconds(1)) == 4)
            let ranks = try await queue.store.database.transaction(.reading) {
                try $0.query("SELECT base_rank - rank FROM durable_job ORDER BY id").map {
                    $0.integer(0)
                }
            }
            #expect(ranks == [4, 4, 4, 4])
            #expect(try await queue.store.raiseOld(in: "tests", span: .seconds(3600)) == 0)
        }
    }

    /// A job that was stored a day ago for now, and one that was handed back.
    @Test(arguments: StoreKind.allCases)
    func theOldestJobHasWaitedSinceItsTimeCame(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let handle = try await queue.enqueue(Echo(text: ""), .delay(.seconds(86_400)))
            #expect(try await queue.store.depth(of: "tests").oldestAge == nil)
            try await queue.change(
                """
                UPDATE durable_job SET enqueued_at = enqueued_at - 86400000,
                    run_at = run_at - 86400000
                """)
            let ghost = try await Ghost(queue)
            try await queue.change("UPDATE durable_job SET state = 2")
            let due = try #require(try await queue.store.depth(of: "tests").oldestAge)
            #expect(due < .seconds(3600))
            let claimed = try await ghost.claim()
            #expect(claimed.map(\.token.job) == [handle.id])
            _ = try await ghost.exchange(claimed.map { EndedAttempt($0.token, .handedBack) })
            let again = try #require(try await queue.store.depth(of: "tests").oldestAge)
            #expect(again < .seconds(3600))
            try await queue.enqueue(Echo(text: ""))
            try await queue.change(
                "UPDATE durable_job SET enqueued_at = enqueued_at - 7200000 WHERE id = ?",
                .integer(handle.id.rawValue + 1))
            let old = try #require(try await queue.store.depth(of: "tests").oldestAge)
            #expect(old >= .seconds(7200) && old < .seconds(10_800))
        }
    }

    @Test(arguments: StoreKind.allCases)
    func theIndexOfAllReadyJobsIsGone(_ kind: StoreKind) async throws {
        try await withStorage(kind) { storage async throws in
            if kind == .file { try await goBack(storage) }
            let database = try await storage.open().database
            let indexes = try await database.transaction(.reading) { session in
                try session.query(
                    kind == .file
                        ? "SELECT name FROM sqlite_master WHERE type = 'index'"
                        : "SELECT indexname::TEXT FROM pg_indexes"
                ).compactMap { $0.text(0) }
            }
            #expect(indexes.contains("durable_job_listed"))
            #expect(!indexes.contains("durable_job_ready"))
            await database.close()
        }
    }

    /// Makes a SQLite file of the version that had the other index.
    private func goBack(_ storage: JobStorage) async throws {
        let database = try await storage.withFiles().open().database
        try await database.transaction(.durable) { session in
            for statement in JobQueue.changesToVersion11 + [
                "DROP TABLE durable_job_extension",
                "DROP INDEX durable_job_listed", "DROP INDEX durable_job_dead_letter",
                """
                CREATE INDEX durable_job_ready ON durable_job (queue, rank, position, id)
                    WHERE state = 2
                """,
                "ALTER TABLE durable_job DROP COLUMN dead_workers",
                "ALTER TABLE durable_job_worker DROP COLUMN ended_at",
                "DROP TABLE durable_job_schedule",
                "ALTER TABLE durable_job_worker DROP COLUMN width",
                "DROP INDEX durable_job_uncounted",
                "ALTER TABLE durable_job DROP COLUMN uncounted",
                "UPDATE durable_job_schema SET version = 8",
            ] { _ = try session.query(statement) }
        }
        await database.close()
    }
}
#endif
