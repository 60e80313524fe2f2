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

    // MARK: Staged files

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
            try await withQueue(.file) { queue async throws in
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
            try await withQueue(kind) { queue async throws in
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
            try await withQueue(kind) { queue async throws in
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
                    return EndedAttempt($0.token, .completed(result: result, outputs: text))
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
            EndedAttempt(token, .completed(result: Data("\"\"".utf8), outputs: text))
        ])
        return handle.id
    }

    /// The folder of the results exists on this machine with another content.
    @Test(arguments: StoreKind.allCases)
    func olderFileIsNotTakenForTheResult(_ kind: StoreKind) async throws {
        try await withFolder { folder in
            try await withQueue(kind) { queue async throws in
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
            try await withQueue(kind) { queue async throws in
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

    /// The clock of the machine may be set back by hours, between the death of a worker and the
    /// sweep.
    @Test(arguments: StoreKind.allCases)
    func commitsOfTheFutureArePublishedAtOnce(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
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
            exchange.ended = [EndedAttempt(token, .completed(result: Data(), outputs: "[]"))]
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

    private var shortLease: JobWorker.Options {
        var options = JobWorker.Options()
        options.lease = .seconds(1)
        return options
    }
}
#endif
