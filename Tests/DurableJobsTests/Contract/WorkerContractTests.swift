#if DurableJobs
import DurableJobs
import Operations
import Testing

#if DurableJobsPostgres
import DurableJobsPostgres
#endif

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite(.timeLimit(.minutes(5)))
struct WorkerContractTests {
    @Test(arguments: StoreKind.allCases)
    func failedJobIsRetried(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let handle = try await queue.enqueue(
                Flaky(failures: 2), .retry(2, backoff: .constant(.milliseconds(20))))
            try await withWorker(queue, [Flaky.self]) { _ async throws in
                #expect(try await handle.value == 3)
            }
            #expect(try await queue.info(handle.id)?.attempt == 3)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func jobWithoutRetriesLeftIsDiscardedWithItsError(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let handle = try await queue.enqueue(
                Flaky(failures: 5), .retry(1, backoff: .none))
            try await withWorker(queue, [Flaky.self]) { _ async throws in
                let error = await #expect(throws: JobFailure.self) { try await handle.value }
                #expect(error?.reason == "failure 2")
            }
            #expect(try await queue.info(handle.id)?.state == .discarded)
            #expect(try await queue.explain(handle.id).contains("2 attempts: failure 2"))
        }
    }

    @Test(arguments: StoreKind.allCases)
    func permanentFailureIsNotRetried(_ kind: StoreKind) async throws {
        struct Hopeless: Job {
            static let name = "hopeless"
            func perform(in context: JobContext) async throws -> NoOutput {
                throw PermanentFailure("there is no such photo")
            }
        }
        try await withQueue(kind) { queue async throws in
            let handle = try await queue.enqueue(Hopeless(), .retry(10, backoff: .none))
            try await withWorker(queue, [Hopeless.self]) { _ async throws in
                let error = await #expect(throws: JobFailure.self) { try await handle.value }
                #expect(error?.reason == "there is no such photo")
            }
            #expect(try await queue.info(handle.id)?.attempt == 1)
        }
    }

    /// The job has no retries, so its first attempt would discard it if the attempt counted.
    @Test(arguments: StoreKind.allCases)
    func attemptThatFindsNoStoreDoesNotCount(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let handle = try await queue.enqueue(FollowUp(address: kind.unreachableAddress))
            try await withWorker(queue, [FollowUp.self]) { _ async throws in
                #expect(try await handle.value == 2)
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func errorAboutTheJobItselfIsNotRetried(_ kind: StoreKind) async throws {
        struct Lost: Job {
            static let name = "lost"
            func perform(in context: JobContext) async throws -> Int {
                try await context.queue.batch(99).counts.total
            }
        }
        try await withQueue(kind) { queue async throws in
            let handle = try await queue.enqueue(Lost(), .retry(10, backoff: .none))
            try await withWorker(queue, [Lost.self]) { _ async throws in
                let error = await #expect(throws: JobFailure.self) { try await handle.value }
                #expect(error?.reason.contains("has no batch 99") == true)
            }
            #expect(try await queue.info(handle.id)?.attempt == 1)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func attemptThatTakesTooLongFails(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let job = Wait()
            let handle = try await queue.enqueue(job, .timeout(.milliseconds(50)))
            try await withWorker(queue, [Wait.self]) { _ async throws in
                let error = await #expect(throws: JobFailure.self) { try await handle.value }
                #expect(error?.reason.contains("took longer than 50 ms") == true)
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func jobBeyondItsDeadlineIsDiscarded(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let late = try await queue.enqueue(
                Echo(text: ""), .deadline(Date(timeIntervalSince1970: 0)))
            let running = Wait()
            let handle = try await queue.enqueue(running, .deadline(in: .milliseconds(500)))
            try await withWorker(queue, [Echo.self, Wait.self]) { _ async throws in
                await #expect(throws: JobFailure.self) { try await late.value }
                let error = await #expect(throws: JobFailure.self) { try await handle.value }
                #expect(error?.reason.contains("deadline") == true)
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func urgentJobsStartFirst(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let board = Board.newName()
            for (line, priority) in [
                ("low", Operations.Operation.QueuePriority.low), ("high", .veryHigh),
                ("normal", .normal),
            ] {
                try await queue.enqueue(Note(board: board, line: line), .priority(priority))
            }
            try await withWorker(queue, [Note.self], width: 1) { _ async throws in
                try await ended(3, in: queue)
            }
            #expect(Board.read(board) == ["high", "normal", "low"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func jobsWithTheSameExclusiveKeyRunOneAtATime(_ kind: StoreKind) async throws {
        struct Alone: Job {
            static let name = "alone"
            var board: String
            func perform(in context: JobContext) async throws -> Int {
                Board.write("begin", to: board)
                for _ in 0..<20 { await Task.yield() }
                Board.write("end", to: board)
                return 0
            }
        }
        try await withQueue(kind) { queue async throws in
            let board = Board.newName()
            for _ in 0..<20 {
                try await queue.enqueue(Alone(board: board), .exclusive(by: "key"))
            }
            let free = try await queue.enqueue(Echo(text: "free"))
            try await withWorker(queue, [Alone.self, Echo.self]) { _ async throws in
                try await withWorker(queue, [Alone.self]) { _ async throws in
                    #expect(try await free.value == "free")
                    try await ended(21, in: queue)
                }
            }
            let lines = Board.read(board)
            #expect(lines == (0..<20).flatMap { _ in ["begin", "end"] })
        }
    }

    @Test(arguments: StoreKind.allCases)
    func argumentsThatDoNotDecodeAreAFailureOfTheirJobOnly(_ kind: StoreKind) async throws {
        struct OldNote: Job {
            static let name = "note"
            var board: String
            func perform(in context: JobContext) async throws -> NoOutput { NoOutput() }
        }
        try await withQueue(kind) { queue async throws in
            let old = try await queue.enqueue(OldNote(board: "b"))
            let kept = try await queue.enqueue(
                OldNote(board: "b"), .retry(1, backoff: .constant(.seconds(3600))))
            let board = Board.newName()
            let new = try await queue.enqueue(Note(board: board, line: "runs"))
            try await withWorker(queue, [Note.self]) { _ async throws in
                let error = await #expect(throws: JobFailure.self) { try await old.value }
                #expect(error?.reason.contains("line: ") == true)
                _ = try await new.value
                while try await queue.info(kept.id)?.state != .retryable { await Task.yield() }
                let text = try await queue.explain(kept.id)
                let process = ProcessInfo.processInfo.processIdentifier
                #expect(text.contains("failed once, and is tried again in"), "\(text)")
                #expect(text.contains("(process \(process)) cannot decode"), "\(text)")
                #expect(text.contains("line: there is no value"), "\(text)")
            }
            // The program before the deploy comes back.
            #expect(try await queue.retry(kept.id))
            try await withWorker(queue, [OldNote.self]) { _ async throws in
                _ = try await kept.value
            }
            #expect(Board.read(board) == ["runs"])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func jobsOfANewerVersionOrUnknownNameStay(_ kind: StoreKind) async throws {
        struct NewEcho: Job {
            static let name = "echo"
            static let version = 2
            var text: String
            func perform(in context: JobContext) async throws -> String { text + "!" }
        }
        try await withQueue(kind) { queue async throws in
            let newer = try await queue.enqueue(NewEcho(text: "newer"))
            let unknown = try await queue.enqueue(Flaky(failures: 0))
            let old = try await queue.enqueue(Echo(text: "old"))
            try await withWorker(queue, [Echo.self]) { _ async throws in
                #expect(try await old.value == "old")
                #expect(
                    try await queue.explain(unknown.id).contains("no worker performs 'flaky'"))
                #expect(try await queue.explain(newer.id).contains("its version is 2"))
            }
            #expect(try await queue.info(newer.id)?.state == .available)
            // A newer worker performs both versions.
            let another = try await queue.enqueue(Echo(text: "another"))
            try await withWorker(queue, [NewEcho.self]) { _ async throws in
                #expect(try await newer.value == "newer!")
                #expect(try await another.value == "another!")
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func resultThatIsTooLargeDiscardsItsJob(_ kind: StoreKind) async throws {
        struct Large: Job {
            static let name = "large"
            func perform(in context: JobContext) async throws -> String {
                String(repeating: "x", count: 8 << 20)
            }
        }
        try await withQueue(kind) { queue async throws in
            let handle = try await queue.enqueue(Large(), .retry(3))
            try await withWorker(queue, [Large.self]) { _ async throws in
                let error = await #expect(throws: JobFailure.self) { try await handle.value }
                #expect(error?.reason.contains("at most 8388608 are stored") == true)
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func stoppedWorkerHandsItsJobsBackUncounted(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let job = Wait()
            let handle = try await queue.enqueue(job)
            let waiting = try await queue.enqueue(Echo(text: "never begun"))
            try await withWorker(queue, [Wait.self, Echo.self], width: 1) { worker in
                #expect(await job.hasStarted)
                worker.stop(gracePeriod: .milliseconds(50))
            }
            #expect(try await queue.info(handle.id)?.state == .available)
            #expect(try await queue.info(waiting.id)?.state == .available)
            try await withWorker(queue, [Wait.self, Echo.self]) { _ async throws in
                #expect(await job.hasStarted)
                job.goOn()
                _ = try await handle.value
                #expect(try await waiting.value == "never begun")
            }
            // It had no retries, so the first run did not count as a failure.
            #expect(try await queue.info(handle.id)?.attempt == 2)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func runningJobMayFinishWhileItsWorkerStops(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let job = Wait()
            let handle = try await queue.enqueue(job)
            let operations = OperationQueue()
            let worker = JobWorker(queue, performing: [Wait.self], on: operations)
            let run = Task { try await worker.run() }
            #expect(await job.hasStarted)
            run.cancel()
            job.goOn()
            try await run.value
            #expect(try await queue.info(handle.id)?.state == .completed)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func localTraitsLimitJobs(_ kind: StoreKind) async throws {
        struct Costly: Job {
            static let name = "costly"
            static let budget = ConcurrencyBudget(1, name: "costly jobs")
            var board: String
            static func traits(for job: Costly) -> [OperationTrait] { [.cost(1, of: budget)] }
            func perform(in context: JobContext) async throws -> NoOutput {
                Board.write("begin", to: board)
                for _ in 0..<20 { await Task.yield() }
                Board.write("end", to: board)
                return NoOutput()
            }
        }
        try await withQueue(kind) { queue async throws in
            let board = Board.newName()
            try await queue.enqueue((0..<10).map { _ in Costly(board: board) })
            try await withWorker(queue, [Costly.self]) { _ async throws in
                try await ended(10, in: queue)
            }
            #expect(Board.read(board) == (0..<10).flatMap { _ in ["begin", "end"] })
        }
    }
}

/// Opens a store that cannot be reached in its first attempt; returns the number of its attempts.
private struct FollowUp: Job {
    static let name = "follow-up"
    var board = Board.newName()
    var address: String

    func perform(in context: JobContext) async throws -> Int {
        let attempt = Board.count(board)
        if attempt == 1 { _ = try await JobQueue("other", in: storage) }
        return attempt
    }

    private var storage: JobStorage {
        #if DurableJobsPostgres
        if address.hasPrefix("postgres:") { return .postgres(address) }
        #endif
        return .file(address)
    }
}

extension StoreKind {
    /// Where no store is, but may be later.
    fileprivate var unreachableAddress: String {
        switch self {
        case .file: "/no/such/folder/jobs.sqlite"
        #if DurableJobsPostgres
        case .postgres: "postgres://127.0.0.1:1/jobs"
        #endif
        }
    }
}

/// Waits until a number of jobs of the queue have ended.
func ended(_ count: Int, in queue: JobQueue) async throws {
    while try await queue.counts().filter({ $0.key.isEnded }).values.reduce(0, +) < count {
        // The store tells nobody about a count.
        try await Task.sleep(for: .milliseconds(5))
    }
}
#endif
