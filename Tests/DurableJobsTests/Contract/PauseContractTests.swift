#if DurableJobs
import DurableJobsTestKit
import Operations
import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import DurableJobs

/// Pauses of a queue, and of a type of jobs.
@Suite(.timeLimit(.minutes(5)))
struct PauseContractTests {
    @Test(arguments: StoreKind.allCases)
    func nothingBeginsUntilTheQueueGoesOn(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            try await withWorker(queue, [Echo.self, Wait.self]) { _ async throws in
                // A body that has begun goes on.
                let wait = Wait()
                let running = try await queue.enqueue(wait)
                #expect(await wait.hasStarted)
                try await queue.pause(reason: "the provider is down")
                let handles = try await queue.enqueue((0..<3).map { Echo(text: "\($0)") })
                wait.goOn()
                _ = try await running.value
                #expect(
                    try await queue.explain(handles[0].id)
                        == "job \(handles[0].id) ('echo') is available, but the queue is paused: "
                        + "the provider is down")
                let pause = try #require(try await queue.pauses().first)
                #expect(pause.name == nil && pause.reason == "the provider is down")
                #expect(try await queue.counts()[.available] == 3)
                try await queue.resume()
                for handle in handles { _ = try await handle.value }
                #expect(try await queue.pauses().isEmpty)
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func oneTypeIsPaused(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let board = Board.newName()
            try await queue.pause(Note.self, reason: "the board is full")
            try await queue.pause(Note.self, reason: "the board is still full")
            let note = try await queue.enqueue(Note(board: board, line: "a"), .priority(.high))
            let echo = try await queue.enqueue(Echo(text: "b"))
            try await withWorker(queue, [Echo.self, Note.self]) { _ async throws in
                #expect(try await echo.value == "b")
                #expect(Board.read(board).isEmpty)
                #expect(
                    try await queue.explain(note.id).hasSuffix(
                        "is available, but 'note' is paused: the board is still full"))
                // That of the queue is another pause.
                try await queue.pause(reason: "all")
                #expect(try await queue.pauses().map(\.name) == [nil, "note"])
                try await queue.resume()
                try await queue.resume(Note.self)
                _ = try await note.value
                try await queue.resume(Note.self)
            }
        }
    }

    /// Jobs that a worker has claimed, and that wait for its slot, do not begin either.
    @Test(arguments: StoreKind.allCases)
    func claimedJobsAreHandedBack(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let operations = OperationQueue()
            operations.maxConcurrentOperationCount = 1
            let (release, claimed) = (Signal(), Signal())
            operations.add { _ = await release.arrives() }
            var options = testOptions
            options.observer = { event in
                if case .exchanged(_, let count, _) = event, count > 0 { claimed.send() }
            }
            let worker = JobWorker(
                queue, performing: [Echo.self], on: operations, options: options)
            let run = Task { try await worker.run() }
            let handle = try await queue.enqueue(Echo(text: "later"))
            #expect(await claimed.arrives())
            try await queue.pause()
            release.send()
            while try await queue.info(handle.id)?.state != .available { await Task.yield() }
            #expect(try await queue.info(handle.id)?.attempt == 0)
            try await queue.resume()
            #expect(try await handle.value == "later")
            worker.stop(gracePeriod: .zero)
            try await run.value
        }
    }

    /// Workers begin jobs all the time, and so do pauses and their ends.
    @Test(arguments: StoreKind.allCases)
    func noJobBeginsAfterTheCallHasReturned(_ kind: StoreKind) async throws {
        try await withStorage(kind) { storage async throws in
            let queue = try await JobQueue("tests", in: storage)
            let other = try await JobQueue("tests", in: storage)
            let begun = Locked((isPaused: false, wrong: 0, count: 0))
            var options = testOptions
            options.observer = { event in
                guard case .started = event else { return }
                begun.withLock { begun in
                    begun.count += 1
                    if begun.isPaused { begun.wrong += 1 }
                }
            }
            try await queue.enqueue((0..<2_000).map { Echo(text: "\($0)") })
            try await withWorker(queue, [Echo.self], options: options) { _ async throws in
                try await withWorker(other, [Echo.self], options: options) { _ async throws in
                    for round in 0..<10 {
                        if round % 2 == 0 {
                            try await queue.pause()
                        } else {
                            try await other.pause(Echo.self)
                        }
                        begun.withLock { $0.isPaused = true }
                        // Looks of the workers, which take nothing.
                        try await queue.enqueue(Echo(text: "new"))
                        for _ in 0..<3 { _ = try await queue.counts() }
                        let before = begun.withLock { begun in
                            begun.isPaused = false
                            return begun.count
                        }
                        try await queue.resume()
                        try await queue.resume(Echo.self)
                        let left = try await queue.counts()[.available] ?? 0
                        while left > 10, begun.withLock({ $0.count }) < before + 10 {
                            await Task.yield()
                        }
                    }
                }
            }
            #expect(begun.withLock { $0.wrong } == 0)
            #expect(begun.withLock { $0.count } >= 10)
            for queue in [queue, other] { await queue.close() }
        }
    }

    /// A program of an earlier version does not know pauses.
    @Test(arguments: StoreKind.allCases)
    func workerThatDoesNotAnswerIsNamed(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let ghost = try await Ghost(queue)
            try await queue.change("UPDATE durable_job_worker SET pauses = NULL")
            let error = await #expect(throws: JobError.self) {
                try await queue.pause(reason: "old", within: .milliseconds(20))
            }
            #expect(error == .workersStillBegin(["ghost (process 1)"]))
            #expect(error?.description.contains("earlier version") == true)
            // The pause is there, and the worker is no longer waited for without its lease.
            try await ghost.die()
            try await queue.pause(reason: "new")
            #expect(try await queue.pauses().map(\.reason) == ["new"])
        }
    }

    /// A worker that has begun to claim with the pauses of a moment before takes nothing.
    @Test(arguments: StoreKind.allCases)
    func claimWithOtherPausesTakesNothing(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            try await queue.enqueue([Echo(text: "a"), Echo(text: "b")])
            let ghost = try await Ghost(queue)
            let claimed = try #require(try await ghost.claim().first)
            _ = try await queue.store.setPause(because: "full", of: nil, in: "tests")
            let answer = try await ghost.exchange(
                [EndedAttempt(claimed.token, ghost.result("a"))], wanted: 1)
            #expect(answer.havePausesChanged && answer.claimed.isEmpty)
            #expect(answer.verdicts == [.accepted(.completed)])
        }
    }

    /// No worker makes room for a suspect that must not begin.
    @Test(arguments: StoreKind.allCases)
    func pausedSuspectStopsNoWorker(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            try await queue.enqueue(Echo(text: "suspect"))
            try await queue.change("UPDATE durable_job SET deaths = 2")
            let ghost = try await Ghost(queue, performing: ["echo", "note"])
            #expect(try await ghost.exchange([], wanted: 1, suspectDeaths: 2).hasSuspects)
            _ = try await queue.store.setPause(because: "full", of: "echo", in: "tests")
            let answer = try await ghost.exchange(
                [], wanted: 1, suspectDeaths: 2, pauses: 1)
            #expect(!answer.hasSuspects && !answer.havePausesChanged)
        }
    }

    @Test func pausedQueueOfATesterRunsNothing() async throws {
        let scheduler = TestScheduler(seed: 1)
        let tester = try await JobTester(clock: scheduler.clock, performing: [Echo.self])
        try await tester.queue.pause(reason: "a test")
        let handle = try await tester.queue.enqueue(Echo(text: ""))
        #expect(try await tester.runDueJobs().isEmpty)
        try await tester.queue.resume()
        #expect(try await tester.runDueJobs() == [handle.id])
    }
}
#endif
