#if DurableJobs
import Dispatch
import OperationsRuntime
import Operations
import OperationsTestSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import DurableJobs

/// What concerns SQLite files only.
@Suite(.timeLimit(.minutes(5)))
struct SQLiteStoreTests {
    @Test func newerSchemaIsRefusedWithBothVersions() async throws {
        try await withFolder { folder in
            let path = "\(folder)/jobs.sqlite"
            await (try JobQueue(in: .file(path))).close()
            try ProgramConnection(path).execute(
                "UPDATE durable_job_schema SET version = 99, compatible = 99")
            let error = await #expect(throws: JobError.self) {
                try await JobQueue(in: .file(path))
            }
            #expect(error == .newerSchema(store: path, found: 99, supported: JobSchema.version))
            #expect(error?.description.contains("99") == true)
        }
    }

    @Test func fileThatIsNoDatabaseIsRefused() async throws {
        try await withFolder { folder in
            let path = "\(folder)/notes.txt"
            try Data(String(repeating: "just text ", count: 100).utf8)
                .write(to: URL(filePath: path))
            let error = await #expect(throws: JobError.self) {
                try await JobQueue(in: .file(path))
            }
            #expect(
                error
                    == .unusableStore(
                        store: path, reason: "the file is not a SQLite database"))
        }
    }

    @Test func folderThatDoesNotExistIsNamed() async throws {
        let error = await #expect(throws: JobError.self) {
            try await JobQueue(in: .file("/no/such/folder/jobs.sqlite"))
        }
        #expect(error?.description.contains("its folder must exist") == true)
    }

    @Test func filesOfOtherMachinesAreRefused() {
        let mounts = """
            /dev/vda / ext4 rw 0 0
            server:/photos /mnt/my\\040photos nfs4 rw 0 0
            /dev/vdb /mnt/my\\040photos/local ext4 rw 0 0
            """
        func refusal(_ path: String) -> JobError? {
            do {
                try NetworkFileSystem.refuse(path, resolved: path, mounts: mounts)
                return nil
            } catch {
                return error as? JobError
            }
        }
        #expect(refusal("/mnt/my photos/jobs.sqlite")?.description.contains("on NFS") == true)
        #expect(refusal("/mnt/my photos/local/jobs.sqlite") == nil)
        #expect(refusal("/mnt/my photos 2/jobs.sqlite") == nil)
        #expect(refusal("/home/jobs.sqlite") == nil)
        #expect(refusal("/mnt/my photos/\u{301}/jobs.sqlite") != nil)
    }

    /// Swift takes a slash and the mark after it as one character.
    @Test func folderOfFileIsBeforeItsLastSlash() {
        #expect(PathText.folder(of: "a/b/c") == "a/b")
        #expect(PathText.folder(of: "a/b/\u{301}c") == "a/b")
        #expect(PathText.folder(of: "/c") == "/")
        #expect(PathText.folder(of: "c") == ".")
    }

    @Test func durableTransactionsAreSynced() async throws {
        try await withFolder { folder in
            let database = try await SQLiteDatabase(path: "\(folder)/jobs.sqlite")
            let durable = try await database.transaction(.durable) {
                try $0.query("PRAGMA synchronous").first?.integer(0)
            }
            let relaxed = try await database.transaction(.relaxed) {
                try $0.query("PRAGMA synchronous").first?.integer(0)
            }
            #expect(durable == 2 && relaxed == 1)
            #expect(
                try await database.transaction(.durable) {
                    try $0.query("PRAGMA journal_mode").first?.text(0)
                } == "wal")
            await database.close()
        }
    }

    /// SQLite refuses to wait when several connections change a new file to a write-ahead log.
    @Test func newFileCanBeOpenedSeveralTimesAtOnce() async throws {
        for _ in 0..<50 {
            try await withFolder { folder in
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for _ in 0..<4 {
                        group.addTask {
                            await (try JobQueue(in: .file("\(folder)/jobs.sqlite"))).close()
                        }
                    }
                    try await group.waitForAll()
                }
            }
        }
    }

    /// Without it, workers would find jobs by polling only.
    @Test func fileThatCannotBeWatchedYetIsWatchedLater() async throws {
        try await withFolder { folder in
            let (later, changed) = ("\(folder)/later", Signal())
            let watch = SQLiteWatch(path: "\(later)/jobs.sqlite")
            let registration = watch.add { changed.send() }
            // The first attempt fails: there is no such folder.
            watch.thread.sync {}
            try FileManager.default.createDirectory(
                atPath: later, withIntermediateDirectories: true)
            #expect(await changed.arrives())
            await watch.end()
            withExtendedLifetime(registration) {}
        }
    }

    @Test func closedQueueIsOneFile() async throws {
        try await withFolder { folder in
            let queue = try await JobQueue(in: .file("\(folder)/jobs.sqlite"))
            try await withWorker(queue, [Echo.self]) { _ async throws in
                #expect(try await queue.enqueue(Echo(text: "done")).value == "done")
            }
            await queue.close()
            let files = try FileManager.default.contentsOfDirectory(atPath: folder)
            #expect(files == ["jobs.sqlite"])
        }
    }

    @Test func jobBelongsToTheCallersTransaction() async throws {
        struct Rollback: Error {}
        try await withFolder { folder in
            let path = "\(folder)/jobs.sqlite"
            let queue = try await JobQueue(in: .file(path))
            // The worker writes to the file at the same time.
            let program = try ProgramConnection(path)
            try await withWorker(queue, [Echo.self]) { _ async throws in
                let handle = try program.write { transaction in
                    try program.execute("CREATE TABLE orders (id INTEGER)")
                    return try queue.enqueue(
                        Echo(text: "kept"), .priority(.high), in: transaction)
                }
                #expect(try await handle.value == "kept")
                #expect(throws: Rollback.self) {
                    try program.write { transaction in
                        try queue.enqueue(Echo(text: "rolled back"), in: transaction)
                        throw Rollback()
                    }
                }
            }
            #expect(try await queue.counts() == [.completed: 1])
            await queue.close()
        }
    }

    /// The program may have begun to read rows.
    @Test func programMayEnqueueWhileItsStatementRuns() async throws {
        try await withFolder { folder in
            let path = "\(folder)/jobs.sqlite"
            let queue = try await JobQueue(in: .file(path))
            let program = try ProgramConnection(path)
            try program.write { transaction in
                try queue.enqueue(Echo(text: "first"), in: transaction)
                try program.withUnfinishedStatement {
                    try queue.enqueue(Echo(text: "second"), in: transaction)
                }
            }
            #expect(try await queue.counts() == [.available: 2])
            await queue.close()
        }
    }

    /// A job in another file, or outside of a transaction, would be lost or stored alone.
    @Test func connectionToAnotherFileIsRefused() async throws {
        try await withFolder { folder in
            let path = "\(folder)/jobs.sqlite"
            let queue = try await JobQueue(in: .file(path))
            await (try JobQueue(in: .file("\(folder)/other.sqlite"))).close()
            let other = try ProgramConnection("\(folder)/other.sqlite")
            let error = #expect(throws: JobError.self) {
                try other.write { _ = try queue.enqueue(Echo(text: ""), in: $0) }
            }
            #expect(error?.description.contains("other.sqlite") == true)
            let own = try ProgramConnection(path)
            #expect(throws: JobError.self) {
                try queue.enqueue(Echo(text: ""), in: own.transaction)
            }
            #expect(throws: JobError.self) {
                try queue.enqueue(Echo(text: ""), in: .sqlite(nil))
            }
            #expect(try await queue.counts() == [:])
            // By another name of the same file.
            let link = "\(folder)/link.sqlite"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: path)
            try ProgramConnection(link).write {
                _ = try queue.enqueue(Echo(text: ""), after: [JobHandle<String>](), in: $0)
            }
            #expect(try await queue.counts() == [.available: 1])
            await queue.close()
        }
    }

    /// An actor enqueues with closures that use its state.
    private actor Enqueuer {
        private var made = 0

        func run(_ queue: JobQueue) async throws -> Int {
            let lazy = (0..<10).lazy.map { number in
                self.assertIsolated()
                return number
            }
            try await queue.enqueue(each: lazy) { number in
                assertIsolated()
                made += 1
                return Echo(text: "\(number)")
            } traits: { job in
                assertIsolated()
                return [.unique(by: job.text)]
            }
            try await queue.enqueue([Echo(text: "last")]) { _ in
                made += 1
                return []
            }
            return made
        }
    }

    @Test func closuresRunInTheActorOfTheCaller() async throws {
        try await withQueue(.file) { queue async throws in
            #expect(try await Enqueuer().run(queue) == 11)
            #expect(try await queue.counts() == [.available: 11])
        }
    }

    @Test func fullDiskIsNamedAndLosesNothing() async throws {
        try await withFolder { folder in
            let queue = try await JobQueue(in: .file("\(folder)/jobs.sqlite"))
            func limitPages(_ statement: String) async throws {
                try await queue.store.database.transaction(.durable) {
                    _ = try $0.query(statement)
                }
            }
            let first = try await queue.enqueue(Echo(text: "kept"))
            try await limitPages("PRAGMA max_page_count = 60")
            let large = String(repeating: "x", count: 500_000)
            let error = await #expect(throws: JobError.self) {
                try await queue.enqueue(Echo(text: large))
            }
            #expect(error?.description.contains("the disk is full") == true)
            try await limitPages("PRAGMA max_page_count = 1000000")
            let second = try await queue.enqueue(Echo(text: large))
            try await withWorker(queue, [Echo.self]) { _ async throws in
                #expect(try await first.value == "kept")
                #expect(try await second.value == large)
            }
            await queue.close()
        }
    }

    @Test func closedStoreSaysSo() async throws {
        try await withFolder { folder in
            let queue = try await JobQueue(in: .file("\(folder)/jobs.sqlite"))
            await queue.close()
            await queue.close()
            await #expect(throws: JobError.closed) {
                try await queue.enqueue(Echo(text: ""))
            }
        }
    }

    /// A lease of an earlier start of the machine has ended, although its time seems to be far
    /// away.
    @Test func leasesEndWithTheMachine() async throws {
        let clock = Locked<Int64>(1_000_000)
        func time(_ boot: String) -> SQLiteTime {
            SQLiteTime(
                wall: { clock.withLock { $0 } }, sinceBoot: { clock.withLock { $0 } }, boot: boot)
        }
        let store = JobStore(try await SQLiteDatabase(inMemoryWith: time("first")))
        try await store.register(
            "w", queue: "q", host: "h", process: 1, lease: .seconds(10), performing: [])
        #expect(try await store.beat("w", lease: .seconds(10)).isAlive)
        clock.withLock { $0 += 10_001 }
        #expect(try await !store.beat("w", lease: .seconds(10)).isAlive)
        try await store.register(
            "x", queue: "q", host: "h", process: 1, lease: .seconds(10), performing: [])
        try await store.database.transaction(.durable) {
            _ = try $0.query("UPDATE durable_job_worker SET boot = 'another'")
        }
        #expect(try await !store.beat("x", lease: .seconds(10)).isAlive)
    }

    /// On PostgreSQL the job with the same unique key may end between the refused insertion and the
    /// search for that job.
    @Test func dependenciesAreStoredAlthoughTheJoinedJobHasJustEnded() async throws {
        try await withQueue(.file) { queue in
            let first = try await queue.enqueue(Echo(text: "first"))
            let new = try queue.newJob(
                Echo(text: "second"), try JobOptions([.unique(by: "key")]), after: [first])
            let id = try await queue.store.database.transaction(.durable) { session in
                var insertions = 0
                return try queue.enqueue(
                    new,
                    WatchedSession(session) { _ in
                        insertions += 1
                        return insertions > 1
                    })
            }
            #expect(try await queue.info(id)?.state == .blocked)
            try await withWorker(queue, [Echo.self]) { _ in
                _ = try await queue.handle(of: Echo.self, id: id).value
            }
        }
    }
}
#endif
