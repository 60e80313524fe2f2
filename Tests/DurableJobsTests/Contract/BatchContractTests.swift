#if DurableJobs
import Dispatch
import DurableJobs
import Operations
import OperationsTestSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Batches whose writer dies, and rows that are of no use any more.
@Suite(.timeLimit(.minutes(5)))
struct BatchContractTests {
    /// Lets the writer of all batches be silent for long.
    private func silenceWriters(_ queue: JobQueue) async throws {
        try await queue.change(
            "UPDATE durable_job_batch SET writer_until = 1 WHERE is_complete = 0")
    }

    @Test(arguments: StoreKind.allCases)
    func batchWhoseWriterDiesIsNotWaitedForForEver(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let batch = try await queue.makeBatch(named: "photos")
            #expect(try await !batch.counts.isAbandoned)
            // The writer stores a chunk, and dies.
            _ = try await queue.store.enqueue(
                [queue.newJob(Echo(text: "1"), JobOptions([.unique(by: 1)]))], in: "tests",
                at: BatchPlaces(batch: batch.id))
            try await silenceWriters(queue)
            #expect(try await batch.counts.isAbandoned)
            let again = queue.batch(batch.id)
            try await withWorker(queue, [Echo.self]) { _ async throws in
                await #expect(throws: JobError.abandonedBatch(batch.id)) {
                    try await again.finished()
                }
                // Another program enqueues the rest.
                let resumed = try await queue.enqueue(each: 2...5, into: again) {
                    Echo(text: "\($0)")
                }
                #expect(resumed.id == batch.id)
                let counts = try await batch.finished()
                #expect(counts.total == 5 && counts.completed == 5 && !counts.isAbandoned)
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func batchIsClosedByAnotherProgram(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let batch = try await queue.makeBatch()
            try await silenceWriters(queue)
            try await queue.batch(batch.id).close()
            #expect(try await batch.finished().total == 0)
            await #expect(throws: JobError.self) {
                try await queue.enqueue(each: 0..<1, into: queue.batch(4711)) {
                    Echo(text: "\($0)")
                }
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func batchesAndTheirCountsAreDeletedWhenTheyAreOld(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let other = try queue.queue("other")
            let old = try await queue.enqueue(each: 0..<3) { Echo(text: "\($0)") }
            try await Ghost(queue).complete(3)
            let theirs = try await other.enqueue(each: 0..<0) { (_: Int) in Echo(text: "") }
            try await queue.change("UPDATE durable_job_batch SET created_at = 1")
            let young = try await queue.enqueue(each: 0..<1) { Echo(text: "\($0)") }
            let unfinished = try await queue.enqueue(each: 0..<1) { Echo(text: "\($0)") }
            try await queue.change(
                "UPDATE durable_job_batch SET created_at = 1 WHERE id = ?",
                .integer(unfinished.id))
            try await queue.prune(endedFor: .seconds(60))
            await #expect(throws: JobError.self) { try await old.counts }
            #expect(try await queue.rowCount("durable_job_count") == 0)
            #expect(try await theirs.counts.isEnded)
            #expect(try await young.counts.total == 1)
            #expect(try await unfinished.counts.total == 1)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func theTypesOfDeadWorkersAreForgotten(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let (dead, alive) = (try await Ghost(queue), try await Ghost(queue))
            try await dead.loseLease()
            // It began long ago, and its lease has ended just now.
            try await queue.change(
                "UPDATE durable_job_worker SET started_at = 1 WHERE id = ?", .text(dead.id))
            #expect(try await queue.store.rescue(in: "tests").count == 0)
            #expect(try await queue.rowCount("durable_job_performed") == 2)
            try await queue.change(
                "UPDATE durable_job_worker SET ended_at = ended_at - 86400001 WHERE id = ?",
                .text(dead.id))
            #expect(try await queue.store.rescue(in: "tests").count == 0)
            #expect(try await queue.rowCount("durable_job_performed") == 1)
            #expect(try await queue.store.performedVersion(of: "echo", in: "tests") == 1)
            withExtendedLifetime(alive) {}
        }
    }

    // MARK: Keys that outlive their jobs

    @Test(arguments: StoreKind.allCases)
    func endedJobIsJoinedForATime(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            func enqueue(_ key: String) async throws -> JobID {
                try await queue.enqueue(
                    Echo(text: key), .unique(by: key, for: .seconds(7_200))
                ).id
            }
            let first = try await enqueue("a")
            let ghost = try await Ghost(queue)
            try await ghost.complete(1)
            #expect(try await enqueue("a") == first)
            let many = try await queue.enqueue(["a", "b", "a"].map { Echo(text: $0) }) {
                [.unique(by: $0.text, for: .seconds(7_200))]
            }
            #expect(many[0].id == first && many[2].id == first && many[1].id != first)
            // In the archive, too.
            try await queue.change(
                "UPDATE durable_job SET ended_at = ended_at - 3600000 WHERE id = ?",
                .integer(first.rawValue))
            #expect(try await queue.prune(endedFor: .seconds(60)) == 1)
            #expect(try await enqueue("a") == first)
            // A key without a time ends with its job.
            let short = try await queue.enqueue(Echo(text: "a"), .unique(by: "a"))
            #expect(short.id != first)
            try await queue.cancel(short.id)
            try await queue.change(
                "UPDATE durable_job_archive SET ended_at = ended_at - 7200000")
            #expect(try await enqueue("a") == short.id)
            try await queue.change("UPDATE durable_job SET ended_at = ended_at - 7200000")
            #expect(![first, short.id].contains(try await enqueue("a")))
        }
    }

    /// Another process enqueues the job, and completes it, between the look and the insertion.
    @Test(arguments: StoreKind.allCases)
    func jobThatComesAndGoesIsJoined(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let trait = JobTrait.unique(by: "a", for: .seconds(60))
            let job = try queue.newJob(Echo(text: ""), JobOptions([trait]))
            let (first, second) = try await queue.store.database.transaction(.durable) { session in
                var first: [JobID] = []
                var places = BatchPlaces()
                let interloper = WatchedSession(session) { _ in
                    guard first.isEmpty else { return true }
                    var places = BatchPlaces()
                    first = try Enqueueing.enqueue([job], in: "tests", at: &places, session)
                    _ = try session.query(
                        "UPDATE durable_job SET state = 10, ended_at = {now} WHERE id = ?",
                        [.integer(first[0].rawValue)])
                    return true
                }
                let second = try Enqueueing.enqueue([job], in: "tests", at: &places, interloper)
                return (first, second)
            }
            #expect(first == second)
            #expect(try await queue.counts() == [.completed: 1])
        }
    }

    // MARK: Schemas

    @Test(arguments: StoreKind.allCases)
    func lookingAtTheVersionOfTheTablesChangesNothing(_ kind: StoreKind) async throws {
        try await withStorage(kind) { storage in
            // Making the tables would show at the second look.
            for _ in 0..<2 { #expect(try await storage.schemaVersion() == 0) }
            if kind == .file {
                #expect(!FileManager.default.fileExists(atPath: storage.description))
            }
            try await storage.migrate()
            #expect(try await storage.schemaVersion() == JobStorage.newestSchemaVersion)
            let queue = try await JobQueue("tests", in: storage)
            try await queue.change("UPDATE durable_job_schema SET version = 99, compatible = 99")
            await queue.close()
            #expect(try await storage.schemaVersion() == 99)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func newerSchemaThatIsCompatibleIsUsed(_ kind: StoreKind) async throws {
        try await withStorage(kind) { storage in
            try await storage.migrate()
            let first = try await JobQueue("tests", in: storage)
            try await first.change("UPDATE durable_job_schema SET version = 99")
            await first.close()
            let queue = try await JobQueue("tests", in: storage)
            try await queue.enqueue(Echo(text: ""))
            #expect(try await queue.counts() == [.available: 1])
            try await queue.change("UPDATE durable_job_schema SET compatible = 98")
            await queue.close()
            await #expect(throws: JobError.self) { try await JobQueue("tests", in: storage) }
        }
    }

    // MARK: Reading

    /// A dashboard must not wait for transactions that write, nor they for it.
    @Test(arguments: StoreKind.allCases)
    func readingWaitsForNoWriter(_ kind: StoreKind) async throws {
        try await withStorage(kind) { storage in
            let queue = try await JobQueue("tests", in: storage)
            let other = try await JobQueue("tests", in: storage)
            let handle = try await queue.enqueue(Echo(text: ""))
            let (begun, mayEnd) = (Board.signal(Board.newName()), DispatchSemaphore(value: 0))
            let writing = Task {
                try await other.store.database.transaction(.relaxed) { session in
                    _ = try session.query("UPDATE durable_job SET attempt = 7")
                    begun.send()
                    mayEnd.wait()
                }
            }
            #expect(await begun.arrives())
            #expect(try await queue.counts() == [.available: 1])
            #expect(try await queue.info(handle.id)?.attempt == 0)
            #expect(try await queue.list().count == 1)
            mayEnd.signal()
            try await writing.value
            #expect(try await queue.info(handle.id)?.attempt == 7)
            await other.close()
            await queue.close()
        }
    }
}
#endif
