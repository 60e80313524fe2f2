#if DurableJobs
import Operations
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import DurableJobFiles
@testable import DurableJobs

/// Stores of earlier versions, which always had files, and programs without files.
@Suite(.timeLimit(.minutes(5)))
struct FileMigrationTests {
    private func bytes(_ count: Int) -> Data { Data(repeating: 7, count: count) }

    /// What the error of an opened store says that needs files.
    private static let remedy = "write `.withFiles()` after the place of the store"

    private func expectRefusal(_ storage: JobStorage) async {
        let error = await #expect(throws: JobError.self) {
            try await JobQueue("tests", in: storage)
        }
        #expect(error?.description.contains("files") == true)
        #expect(error?.description.contains(Self.remedy) == true)
        await #expect(throws: JobError.self) { try await storage.migrate() }
    }

    private func hasAttachmentTable(_ queue: JobQueue) async -> Bool {
        (try? await queue.rowCount("durable_job_attachment")) != nil
    }

    private func compatibleVersion(_ queue: JobQueue) async throws -> Int64? {
        try await queue.store.database.transaction(.reading) {
            try $0.query("SELECT compatible FROM durable_job_schema").first?.integer(0)
        }
    }

    // MARK: Programs without files

    @Test(arguments: StoreKind.allCases)
    func newStoreHasNoTableOfFilesUntilAProgramAsksForIt(_ kind: StoreKind) async throws {
        try await withStorage(kind) { storage in
            for _ in 0..<2 {
                let plain = try await JobQueue("tests", in: storage)
                #expect(await !hasAttachmentTable(plain))
                #expect(try await compatibleVersion(plain) == 10)
                await plain.close()
            }
            for _ in 0..<2 {
                let files = try await JobQueue("tests", in: storage.withFiles())
                #expect(await hasAttachmentTable(files))
                await files.close()
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func storeWithFilesIsRefusedWithout(_ kind: StoreKind) async throws {
        try await withStorage(kind) { storage in
            try await storage.withFiles().migrate()
            await expectRefusal(storage)
            #expect(try await storage.schemaVersion() == JobSchema.version)
            let queue = try await JobQueue("tests", in: storage.withFiles())
            try await queue.change("UPDATE durable_job_extension SET version = 7")
            await queue.close()
            let error = await #expect(throws: JobError.self) {
                try await JobQueue("tests", in: storage.withFiles())
            }
            #expect(error == .newerSchema(store: queue.store.description, found: 7, supported: 1))
        }
    }

    /// The program opened the store before another one had files.
    @Test(arguments: StoreKind.allCases)
    func programThatRunsWithoutFilesLosesNone(_ kind: StoreKind) async throws {
        try await withStorage(kind) { storage in
            let plain = try await JobQueue("tests", in: storage)
            let queue = try await JobQueue("tests", in: storage.withFiles())
            let handle = try await plain.enqueue(Attach(byteCount: 5))
            try await withWorker(queue, [Attach.self]) { _ async throws in
                #expect(try await handle.value == 5)
            }
            let now = try await queue.store.now()
            while try await queue.store.now() <= now { await Task.yield() }
            #expect(try await plain.prune(endedFor: .zero) == 0)
            #expect(try await queue.attachment(of: handle.id) == bytes(5))
            #expect(try await queue.prune(endedFor: .zero) == 1)
            #expect(try await queue.rowCount("durable_job_attachment") == 0)
            await plain.close()
            await queue.close()
        }
    }

    @Test(arguments: StoreKind.allCases)
    func callsOfAQueueWithoutFilesSayWhatToDo(_ kind: StoreKind) async throws {
        try await withFolder { folder in
            try await withQueue(kind) { queue async throws in
                let handles = [
                    try await queue.enqueue(Attach(byteCount: 5), .retry(3)).id,
                    try await queue.enqueue(
                        WriteFile(path: "\(folder)/file", text: ""), .retry(3)
                    ).id,
                ]
                try await withWorker(queue, [Attach.self, WriteFile.self]) { _ async throws in
                    for id in handles {
                        while try await queue.info(id)?.state != .discarded { await Task.yield() }
                        #expect(try await queue.info(id)?.error?.contains(Self.remedy) == true)
                    }
                }
                for call in [
                    { _ = try await queue.attachment(of: handles[0]) },
                    { try await queue.removeAttachment(of: handles[0]) },
                    { try await queue.removeStagedFiles(in: folder) },
                ] as [() async throws -> Void] {
                    let error = await #expect(throws: JobError.self) { try await call() }
                    #expect(error?.description.contains(Self.remedy) == true)
                }
            }
        }
    }

    // MARK: Earlier versions

    /// Makes the tables those of version 9.
    private func goBack(_ queue: JobQueue) async throws {
        try await queue.change("DROP TABLE durable_job_schedule")
        try await queue.change("ALTER TABLE durable_job_worker DROP COLUMN width")
        for change in JobQueue.changesToVersion11 { try await queue.change(change) }
        try await queue.change("DROP INDEX durable_job_uncounted")
        try await queue.change("ALTER TABLE durable_job DROP COLUMN uncounted")
        try await queue.change("DROP TABLE durable_job_extension")
        try await queue.change("ALTER TABLE durable_job DROP COLUMN dead_workers")
        try await queue.change("ALTER TABLE durable_job_worker DROP COLUMN ended_at")
        try await queue.change("UPDATE durable_job_schema SET version = 9, compatible = 7")
    }

    /// A worker of version 9 has died between its commit and the rename, and nobody has fetched an
    /// attachment.
    @Test(arguments: StoreKind.allCases)
    func storeOfAnEarlierVersionKeepsItsFilesAndAttachments(_ kind: StoreKind) async throws {
        try await withFolder { folder in
            try await withStorage(kind) { storage in
                let first = try await JobQueue("tests", in: storage.withFiles())
                let attached = try await first.enqueue(Attach(byteCount: 5), .unique(by: "a"))
                try await withWorker(first, [Attach.self]) { _ async throws in
                    _ = try await attached.value
                }
                let written = try await first.enqueue(Echo(text: ""))
                let ghost = try await Ghost(first)
                let token = try #require(try await ghost.claim().first).token
                let files = StagedFiles()
                let staged = try files.stage(
                    "\(folder)/file", job: token.job, attempt: 1)
                try Data("text".utf8).write(to: URL(filePath: staged))
                _ = try await ghost.exchange([
                    EndedAttempt(
                        token,
                        .completed(
                            result: Data("\"done\"".utf8),
                            addition: EndAddition(outputs: files.text)))
                ])
                try await goBack(first)
                await first.close()

                await expectRefusal(storage)
                let queue = try await JobQueue("tests", in: storage.withFiles())
                // Programs of that version may go on.
                #expect(try await compatibleVersion(queue) == 7)
                #expect(
                    try await queue.enqueue(Attach(byteCount: 6), .unique(by: "a")).id
                        == attached.id)
                #expect(try await queue.attachment(of: attached.id) == bytes(5))
                var options = JobWorker.Options()
                options.lease = .seconds(1)
                try await withWorker(queue, [Attach.self], options: options) { _ async throws in
                    let handle = queue.handle(of: Echo.self, id: written.id)
                    #expect(try await handle.value == "done")
                }
                #expect(try String(contentsOfFile: "\(folder)/file", encoding: .utf8) == "text")
                await queue.close()
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func storeOfAnEarlierVersionWithoutFilesOpensWithAndWithout(_ kind: StoreKind) async throws {
        try await withStorage(kind) { storage in
            let first = try await JobQueue("tests", in: storage.withFiles())
            let handle = try await first.enqueue(Echo(text: "kept"))
            try await goBack(first)
            await first.close()
            let plain = try await JobQueue("tests", in: storage)
            try await withWorker(plain, [Echo.self]) { _ async throws in
                #expect(try await plain.handle(of: Echo.self, id: handle.id).value == "kept")
            }
            // An attachment of a program of version 9, whose job this one has moved.
            try await plain.change(
                """
                INSERT INTO durable_job_attachment (job, queue, byte_count, bytes)
                VALUES (99, 'tests', 5, ?)
                """, .bytes(bytes(5)))
            await plain.close()
            let files = try await JobQueue("tests", in: storage.withFiles())
            #expect(try await files.rowCount("durable_job_attachment") == 0)
            await files.close()
            await expectRefusal(storage)
        }
    }

    /// What takes the migrations of all later versions back. The indexes that these have replaced
    /// may have their new columns.
    private static let changesToTheFirstVersion = [
        "DROP TABLE durable_job_attachment", "DROP TABLE durable_job_extension",
        "DROP INDEX durable_job_archive_ended",
        "DROP INDEX durable_job_unchecked", "ALTER TABLE durable_job DROP COLUMN unchecked",
        "ALTER TABLE durable_job_worker DROP COLUMN is_stopping", "DROP INDEX durable_job_suspect",
        "DROP INDEX durable_job_archive_key", "DROP INDEX durable_job_ended_key",
        "DROP INDEX durable_job_batch_age", "DROP INDEX durable_job_claimable",
        "DROP INDEX durable_job_exclusive", "ALTER TABLE durable_job DROP COLUMN parked",
        "ALTER TABLE durable_job_archive DROP COLUMN unique_key",
        "ALTER TABLE durable_job_batch DROP COLUMN writer_until",
        "ALTER TABLE durable_job_schema DROP COLUMN compatible",
        "ALTER TABLE durable_job DROP COLUMN claim",
        "ALTER TABLE durable_job_archive DROP COLUMN claim", "DROP INDEX durable_job_dead_letter",
        "DROP INDEX durable_job_listed", "ALTER TABLE durable_job DROP COLUMN dead_workers",
        "ALTER TABLE durable_job_worker DROP COLUMN ended_at",
        "DROP TABLE durable_job_schedule",
        "ALTER TABLE durable_job_worker DROP COLUMN width",
        "DROP INDEX durable_job_uncounted", "ALTER TABLE durable_job DROP COLUMN uncounted",
        "UPDATE durable_job_schema SET version = 1",
    ]

    @Test(arguments: StoreKind.allCases)
    func theStoreOfTheFirstVersionIsMigrated(_ kind: StoreKind) async throws {
        try await withStorage(kind) { storage in
            let storage = storage.withFiles()
            let first = try await JobQueue("tests", in: storage)
            let handle = try await first.enqueue(Attach(byteCount: 5), .unique(by: "a"))
            try await first.store.database.transaction(.durable) { session in
                for change in JobQueue.changesToVersion11 + Self.changesToTheFirstVersion {
                    _ = try session.query(change)
                }
                // PostgreSQL takes no schema in the name of an index that is made.
                guard kind == .file else { return }
                _ = try session.query("CREATE INDEX durable_job_ready ON durable_job (id)")
            }
            await first.close()
            let queue = try await JobQueue("tests", in: storage)
            let rows = try await queue.store.database.transaction(.relaxed) {
                try $0.query("SELECT version FROM durable_job_schema").map { $0.integer(0) }
            }
            #expect(rows == [Int64(JobSchema.version)])
            #expect(try await queue.enqueue(Attach(byteCount: 6), .unique(by: "a")) == handle)
            try await withWorker(queue, [Attach.self]) { _ async throws in
                _ = try await queue.handle(of: Attach.self, id: handle.id).value
            }
            #expect(try await queue.attachment(of: handle.id) == bytes(5))
            #expect(try await compatibleVersion(queue) == 10)
            await queue.close()
        }
    }
}
#endif
