#if DurableJobsPostgres
import CDurableJobsLibPQ
import DurableJobFiles
import DurableJobs
import Operations
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import DurableJobsPostgres

/// Transactions of the application that stay open, and texts that the database cannot hold.
@Suite(.timeLimit(.minutes(5)))
struct PostgresLockTests {
    /// A connection of the application, with an open transaction.
    private struct Application {
        // Used by one task at a time.
        nonisolated(unsafe) let connection: OpaquePointer

        func execute(_ sql: String) throws { try PostgresSession(connection).execute(sql) }
    }

    /// Opens a queue and a transaction of the application.
    private func withApplication(
        _ body: (JobQueue, Application) async throws -> Void
    ) async throws {
        try await withDatabase { url in
            let queue = try await JobQueue("tests", in: .postgres(url))
            let application = Application(connection: try PostgresTarget(url).connect())
            defer { PQfinish(application.connection) }
            try application.execute("BEGIN")
            do {
                try await body(queue, application)
            } catch {
                Issue.record(error)
            }
            await queue.close()
        }
    }

    @Test func lockedJobOfAWorkerThatComesBackCountsNoDeath() async throws {
        try await withApplication { queue, application in
            let handle = try await queue.enqueue(Echo(text: ""))
            let ghost = try await Ghost(queue)
            let claimed = try await ghost.claim()
            _ = try PostgresSession(application.connection).query(
                "SELECT 1 FROM durable_job WHERE id = ? FOR UPDATE",
                [.integer(handle.id.rawValue)])
            try await ghost.loseLease()
            try await ghost.comeBack(from: claimed)
            #expect(try await queue.info(handle.id)?.state == .running)
            try application.execute("COMMIT")
            #expect(try await queue.store.rescue(in: "tests", deathLimit: 1).count == 1)
            #expect(try await queue.info(handle.id)?.state == .available)
            #expect(try await queue.rowCount("durable_job WHERE deaths > 0") == 0)
        }
    }

    @Test func dependentInAnOpenTransactionStopsNobody() async throws {
        try await withApplication { queue, application in
            let first = try await queue.enqueue(Echo(text: "first"))
            let failing = try await queue.enqueue(Flaky(failures: 1))
            let own = JobTransaction.postgres(application.connection)
            let after = try queue.enqueue(Echo(text: "after"), after: first, in: own)
            let onFailure = try queue.enqueue(
                Echo(text: "x"), after: failing.on(.failure), in: own)
            let onSuccess = try queue.enqueue(Echo(text: "y"), after: failing, in: own)
            try await withWorker(queue, [Echo.self, Flaky.self]) { _ async throws in
                #expect(try await first.value == "first")
                await #expect(throws: JobFailure.self) { try await failing.value }
                #expect(try await queue.info(after.id) == nil)
                // Nobody may delete what the open transaction depends on.
                let now = try await queue.store.now()
                while try await queue.store.now() <= now { await Task.yield() }
                #expect(try await queue.prune(endedFor: .zero, archivingFor: nil) == 0)
                try application.execute("COMMIT")
                #expect(try await after.value == "after")
                #expect(try await onFailure.value == "x")
                await #expect(throws: JobCancellation.self) { try await onSuccess.value }
            }
        }
    }

    /// Returns when a connection to the queue's database waits for a lock.
    private func callWaitsForALock(_ queue: JobQueue) async throws {
        while try await queue.store.database.transaction(
            .relaxed,
            { session in
                try session.query(
                    """
                    SELECT 1 FROM pg_stat_activity WHERE datname = current_database()
                        AND wait_event_type = 'Lock'
                    """
                ).isEmpty
            })
        {}
    }

    /// The new job with the key is stored after the call has looked for one, and before it changes
    /// the old job.
    @Test func jobWhoseKeyIsTakenMeanwhileIsNotRetried() async throws {
        try await withApplication { queue, application in
            let old = try await queue.enqueue(Echo(text: "old"), .unique(by: "key"))
            let other = try await queue.enqueue(Echo(text: "other"))
            try await queue.cancelAll([old.id, other.id])
            _ = try queue.enqueue(
                Echo(text: "new"), .unique(by: "key"), in: .postgres(application.connection))
            let retry = Task { try await queue.retryAll([old.id, other.id]) }
            try await callWaitsForALock(queue)
            try application.execute("COMMIT")
            #expect(try await retry.value == [other.id])
            #expect(try await queue.info(old.id)?.state == .cancelled)
        }
    }

    @Test func openUniqueKeyStopsNeitherWorkersNorOtherCalls() async throws {
        try await withApplication { queue, application in
            let open = try queue.enqueue(
                Echo(text: "open"), .unique(by: "key"), in: .postgres(application.connection))
            try await withWorker(queue, [Echo.self]) { _ async throws in
                let waiting = Task {
                    try await queue.enqueue(Echo(text: "waiting"), .unique(by: "key"))
                }
                try await callWaitsForALock(queue)
                let other = try await queue.enqueue(Echo(text: "other"))
                #expect(try await other.value == "other")
                #expect(try await queue.info(other.id)?.state == .completed)
                try application.execute("COMMIT")
                #expect(try await waiting.value == open)
                #expect(try await open.value == "open")
            }
        }
    }

    /// The application locks the row of one job of a group.
    @Test func lockedRowHoldsNoOtherEndBack() async throws {
        try await withApplication { queue, application in
            let jobs = (0..<20).map { _ in Wait() }
            let handles = try await queue.enqueue(jobs)
            try await withWorker(queue, [Wait.self, Echo.self], width: 20) { _ async throws in
                for job in jobs { #expect(await job.hasStarted) }
                let locked = handles[7].id
                _ = try PostgresSession(application.connection).query(
                    "SELECT 1 FROM durable_job WHERE id = ? FOR UPDATE",
                    [.integer(locked.rawValue)])
                for job in jobs { job.goOn() }
                for handle in handles where handle.id != locked { _ = try await handle.value }
                _ = try await queue.enqueue(Echo(text: "later")).value
                #expect(try await queue.info(locked)?.state == .running)
                try application.execute("ROLLBACK")
                #expect(try await handles[7].value == 1)
            }
        }
    }

    // MARK: Encodings

    private let latin1 = "ENCODING LATIN1 LOCALE 'C' TEMPLATE template0"

    @Test func reasonThatCannotBeStoredEndsItsJobAllTheSame() async throws {
        struct Emoji: Job {
            static let name = "emoji"
            var text: String

            func perform(in context: JobContext) async throws -> String {
                if text.isEmpty { throw PermanentFailure("it fails with 😀") }
                return text
            }
        }
        try await withDatabase(latin1) { url in
            let queue = try await JobQueue("tests", in: .postgres(url))
            let handles = try await queue.enqueue((0..<51).map { Emoji(text: $0 == 25 ? "" : "😀") })
            try await withWorker(queue, [Emoji.self], width: 30) { _ async throws in
                for (index, handle) in handles.enumerated() where index != 25 {
                    #expect(try await handle.value == "😀")
                }
                let error = await #expect(throws: JobFailure.self) { try await handles[25].value }
                #expect(error?.reason == #"it fails with \u{0001F600}"#)
            }
            await queue.close()
        }
    }

    @Test func nameThatCannotBeStoredIsRefused() async throws {
        struct Named: Job {
            static let name = "čaj"

            func perform(in context: JobContext) async throws -> NoOutput { NoOutput() }
        }
        try await withDatabase(latin1) { url in
            let queue = try await JobQueue("tests", in: .postgres(url))
            let error = await #expect(throws: JobError.self) { try await queue.enqueue(Named()) }
            #expect(
                error
                    == .unstorableText(
                        field: "the name 'čaj' of the job", character: "č", encoding: "LATIN1"))
            #expect(try await queue.counts().isEmpty)
            let other = try queue.queue("😀")
            await #expect(throws: JobError.self) { try await other.enqueue(Echo(text: "")) }
            await queue.close()
        }
    }

    @Test func filesWithAnyNameArePublished() async throws {
        try await withFolder { folder in
            try await withDatabase(latin1) { url in
                let queue = try await JobQueue("tests", in: .postgres(url).withFiles())
                let path = "\(folder)/čaj 😀"
                let handle = try await queue.enqueue(WriteFile(path: path, text: "tea"))
                try await withWorker(queue, [WriteFile.self]) { _ async throws in
                    #expect(try await handle.value == path)
                }
                #expect(try String(contentsOfFile: path, encoding: .utf8) == "tea")
                await queue.close()
            }
        }
    }
}
#endif
