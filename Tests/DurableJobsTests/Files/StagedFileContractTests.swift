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

@testable import DurableJobFiles

/// Files that get their names when a success is committed.
@Suite(.timeLimit(.minutes(5)))
struct StagedFileContractTests {
    /// To open the pipe, as a file, would block the thread for ever.
    @Test func aNamedPipeInPlaceOfAStagedFileIsRefused() async throws {
        struct MakePipe: Job {
            static let name = "make pipe"
            var path: String

            func perform(in context: JobContext) async throws -> NoOutput {
                let staged = try context.stagedFile(for: path)
                guard mkfifo(staged, 0o600) == 0 else { throw PermanentFailure("no pipe") }
                return NoOutput()
            }
        }
        try await withFolder { folder in
            try await withFileQueue(.file) { queue async throws in
                let handle = try await queue.enqueue(MakePipe(path: "\(folder)/file"))
                try await withWorker(queue, [MakePipe.self]) { _ async throws in
                    let error = await #expect(throws: JobFailure.self) { try await handle.value }
                    #expect(error?.reason.contains("neither a regular file") == true)
                }
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func stagedFileGetsItsNameWithTheCommit(_ kind: StoreKind) async throws {
        try await withFolder { folder in
            try await withFileQueue(kind) { queue async throws in
                let (good, bad) = ("\(folder)/good", "\(folder)/bad")
                let handle = try await queue.enqueue(WriteFile(path: good, text: "good"))
                let failing = try await queue.enqueue(
                    WriteFile(path: bad, text: "bad", failures: 1))
                try await withWorker(queue, [WriteFile.self]) { _ async throws in
                    #expect(try await handle.value == good)
                    await #expect(throws: JobFailure.self) { try await failing.value }
                    #expect(try String(contentsOfFile: good, encoding: .utf8) == "good")
                }
                #expect(!FileManager.default.fileExists(atPath: bad))
                let staged = try FileManager.default.contentsOfDirectory(
                    atPath: "\(folder)/.stage")
                #expect(staged.allSatisfy { $0.hasPrefix("folder-") })
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func theSweepPublishesForAWorkerThatDied(_ kind: StoreKind) async throws {
        try await withFolder { folder in
            try await withFileQueue(kind) { queue async throws in
                try FileManager.default.createDirectory(
                    atPath: "\(folder)/.stage", withIntermediateDirectories: true)
                // Before this job, more than one page of jobs whose folder nobody sees.
                let unseen = JobStore.unpublishedPage + 1
                for _ in 0..<unseen { try await queue.enqueue(Echo(text: "")) }
                let handle = try await queue.enqueue(Echo(text: ""))
                let ghost = UUID().uuidString
                let types = [PerformedJob(name: "echo", version: 1)]
                try await queue.store.register(
                    ghost, queue: "tests", host: "ghost", process: 1, lease: .seconds(60),
                    performing: types)
                var exchange = Exchange(worker: ghost, queue: "tests")
                exchange.wanted = unseen + 1
                exchange.performed = types
                let claimed = try await queue.store.exchange(exchange).claimed
                try #require(claimed.count == unseen + 1)
                let token = claimed[unseen].token
                let staged = "\(folder)/.stage/\(token.job)-1-1"
                try Data("text".utf8).write(to: URL(filePath: staged))
                let outputs = """
                    [{"staged": "\(staged)", "final": "\(folder)/final"}]
                    """
                exchange.wanted = 0
                let result = Data("\"done\"".utf8)
                let elsewhere = #"[{"staged": "/nowhere/staged", "final": "/nowhere/final"}]"#
                exchange.ended = claimed.map {
                    let text = $0.token.job == token.job ? outputs : elsewhere
                    let addition = EndAddition(outputs: text)
                    return EndedAttempt($0.token, .completed(result: result, addition: addition))
                }
                // The worker commits, and dies before the rename.
                _ = try await queue.store.exchange(exchange)
                try await withWorker(queue, [Flaky.self], options: shortLease) { _ async throws in
                    #expect(try await handle.value == "done")
                }
                #expect(
                    try String(contentsOfFile: "\(folder)/final", encoding: .utf8) == "text")
            }
        }
    }

    /// Commits a job whose files are not published, because its worker dies.
    private func commit(_ outputs: String, in queue: JobQueue) async throws -> JobID {
        let handle = try await queue.enqueue(Echo(text: ""))
        let ghost = try await Ghost(queue)
        let token = try #require(try await ghost.claim().first).token
        let text = outputs.replacing("JOB", with: "\(token.job)-1-1")
        _ = try await ghost.exchange([
            EndedAttempt(
                token,
                .completed(
                    result: Data("\"\"".utf8), addition: EndAddition(outputs: text)))
        ])
        return handle.id
    }

    /// The folder of the results exists on this machine with another content.
    @Test(arguments: StoreKind.allCases)
    func olderFileIsNotTakenForTheResult(_ kind: StoreKind) async throws {
        try await withFolder { folder in
            try await withFileQueue(kind) { queue async throws in
                let staging = "\(folder)/.stage"
                try FileManager.default.createDirectory(
                    atPath: staging, withIntermediateDirectories: true)
                try Data("older".utf8).write(to: URL(filePath: "\(folder)/final"))
                let id = try await commit(
                    """
                    [{"staged": "\(staging)/JOB", "final": "\(folder)/final", "mark": "folder-1"}]
                    """, in: queue)
                let unpublished = try await queue.store.unpublished(for: .zero, in: "tests")
                #expect(unpublished.map(\.id) == [id])
                let jobs = unpublished.map { ($0.id, $0.outputs) }
                #expect(try await !queue.store.publish(jobs))
                // The folder is the right one, and another process has renamed the file.
                try Data().write(to: URL(filePath: "\(staging)/folder-1"))
                #expect(try await queue.store.publish(jobs))
                #expect(try await queue.store.unpublished(for: .zero, in: "tests").isEmpty)
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func theSweepTouchesNothingButStagedFilesOfItsQueue(_ kind: StoreKind) async throws {
        try await withFolder { folder in
            try await withFileQueue(kind) { queue async throws in
                let staging = "\(folder)/.stage"
                try FileManager.default.createDirectory(
                    atPath: staging, withIntermediateDirectories: true)
                let letter = "\(folder)/letter"
                try Data("letter".utf8).write(to: URL(filePath: letter))
                try Data("letter".utf8).write(to: URL(filePath: "\(staging)/999-1-1"))
                for staged in [letter, "\(staging)/999-1-1", "\(staging)/../letter"] {
                    let outputs = #"[{"staged": "\#(staged)", "final": "\#(folder)/final"}]"#
                    _ = try await commit(outputs, in: queue)
                }
                let other = try queue.queue("other")
                #expect(try await other.store.unpublished(for: .zero, in: "other").isEmpty)
                let mine = try await queue.store.unpublished(for: .zero, in: "tests")
                #expect(mine.count == 3)
                #expect(try await !queue.store.publish(mine.map { ($0.id, $0.outputs) }))
                #expect(try String(contentsOfFile: letter, encoding: .utf8) == "letter")
                #expect(!FileManager.default.fileExists(atPath: "\(folder)/final"))
            }
        }
    }

    /// The clock of the machine may be set back by hours, between the death of a worker and the
    /// sweep.
    @Test(arguments: StoreKind.allCases)
    func commitsOfTheFutureArePublishedAtOnce(_ kind: StoreKind) async throws {
        try await withFileQueue(kind) { queue async throws in
            let handle = try await queue.enqueue(Echo(text: ""))
            let ghost = UUID().uuidString
            var exchange = Exchange(worker: ghost, queue: "tests")
            exchange.performed = [PerformedJob(name: "echo", version: 1)]
            try await queue.store.register(
                ghost, queue: "tests", host: "ghost", process: 1, lease: .seconds(60),
                performing: exchange.performed)
            exchange.wanted = 1
            let token = try #require(try await queue.store.exchange(exchange).claimed.first).token
            exchange.wanted = 0
            exchange.ended = [
                EndedAttempt(
                    token,
                    .completed(result: Data(), addition: EndAddition(outputs: "[]")))
            ]
            _ = try await queue.store.exchange(exchange)
            let age = Duration.seconds(15)
            #expect(try await queue.store.unpublished(for: age, in: "tests").isEmpty)
            try await queue.store.database.transaction(.relaxed) { session in
                _ = try session.query("UPDATE durable_job SET ended_at = ended_at + 3600000")
            }
            #expect(
                try await queue.store.unpublished(for: age, in: "tests").map(\.id) == [handle.id])
            #expect(
                try await queue.store.unpublished(for: age, among: [handle.id]).count == 1)
        }
    }

    /// An attempt that has lost its lease deletes its own file, and other programs sweep, too.
    @Test func staleFilesMayBeDeletedBySeveralProgramsAtOnce() async throws {
        try await withFolder { folder in
            let queue = try await JobQueue(in: .file("\(folder)/jobs.sqlite").withFiles())
            let staging = "\(folder)/.stage"
            try FileManager.default.createDirectory(
                atPath: staging, withIntermediateDirectories: true)
            for round in 0..<10 {
                for number in 0..<100 {
                    try Data().write(to: URL(filePath: "\(staging)/1-\(round)-\(number)"))
                }
                let count = try await withThrowingTaskGroup(of: Int.self) { group in
                    for _ in 0..<4 {
                        group.addTask { try await queue.removeStagedFiles(in: folder) }
                    }
                    return try await group.reduce(0, +)
                }
                #expect(count == 100)
            }
            await queue.close()
        }
    }

    private var shortLease: JobWorker.Options {
        var options = JobWorker.Options()
        options.lease = .seconds(1)
        return options
    }
}
#endif
