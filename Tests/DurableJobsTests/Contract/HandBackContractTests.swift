#if DurableJobs
@testable import DurableJobs
import Operations
import OperationsRuntime
import OperationsTestSupport
import Testing

/// Claimed jobs that cannot begin.
@Suite(.timeLimit(.minutes(5)))
struct HandBackContractTests {
    /// Waits a second in its operation queue before it begins; returns the number of its attempt.
    private struct Delayed: Job {
        static let name = "delayed"
        static func traits(for job: Delayed) -> [OperationTrait] {
            [.delay(UnbegunJobs.patience + .milliseconds(200))]
        }
        func perform(in context: JobContext) async throws -> Int { context.attempt }
    }

    /// Both jobs are there when the first worker looks.
    @Test(arguments: StoreKind.allCases)
    func aJobDoesNotWaitBehindALongOneBesideAnIdleWorker(_ kind: StoreKind) async throws {
        try await withStorage(kind) { storage async throws in
            let queue = try await JobQueue("tests", in: storage)
            let other = try await JobQueue("tests", in: storage)
            let types: [any Job.Type] = [Wait.self, Echo.self]
            try await withWorker(queue, types, width: 1) { _ async throws in
                try await withWorker(other, types, width: 1) { _ async throws in
                    let long = Wait()
                    let first = try await queue.enqueue(long)
                    #expect(await long.hasStarted)
                    let handles = try await queue.enqueue((0..<4).map { Echo(text: "\($0)") })
                    for handle in handles { _ = try await handle.value }
                    for handle in handles {
                        #expect(try await queue.info(handle.id)?.attempt == 1)
                    }
                    long.goOn()
                    _ = try await first.value
                }
            }
            for queue in [queue, other] { await queue.close() }
        }
    }

    /// Other work of the program has taken the slot of the worker.
    @Test(arguments: StoreKind.allCases)
    func aJobThatDoesNotBeginIsHandedToAnIdleWorker(_ kind: StoreKind) async throws {
        try await withStorage(kind) { storage async throws in
            let queue = try await JobQueue("tests", in: storage)
            let other = try await JobQueue("tests", in: storage)
            let operations = OperationQueue()
            operations.maxConcurrentOperationCount = 1
            let release = Signal()
            operations.add { _ = await release.arrives() }

            let events = Locked<[String]>([])
            let claimed = Signal()
            var options = testOptions
            options.observer = { event in
                switch event {
                case .exchanged(_, let count, _) where count > 0: claimed.send()
                case .started: events.withLock { $0.append("started") }
                case .ended(_, _, let attempt, let state, _):
                    events.withLock { $0.append("\(attempt) \(state)") }
                default: break
                }
            }
            let worker = JobWorker(
                queue, performing: [Echo.self], on: operations, options: options)
            let run = Task { try await worker.run() }
            let handle = try await queue.enqueue(Echo(text: "begun elsewhere"))
            #expect(await claimed.arrives())
            try await withWorker(other, [Echo.self]) { _ async throws in
                #expect(try await handle.value == "begun elsewhere")
            }
            // What has not begun is no attempt.
            #expect(try await queue.info(handle.id)?.attempt == 1)
            worker.stop(gracePeriod: .zero)
            release.send()
            try await run.value
            let seen = events.withLock { $0 }
            #expect(seen.contains("1 available") && !seen.contains("started"), "\(seen)")
            for queue in [queue, other] { await queue.close() }
        }
    }

    /// No worker would begin it earlier.
    @Test(arguments: StoreKind.allCases)
    func aJobWhoseTypeDelaysItIsNotHandedBack(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let ends = Locked(0)
            var options = testOptions
            options.observer = { if case .ended = $0 { ends.withLock { $0 += 1 } } }
            try await withWorker(queue, [Delayed.self], options: options) { _ async throws in
                #expect(try await queue.enqueue(Delayed()).value == 1)
            }
            #expect(ends.withLock { $0 } == 1)
        }
    }

    /// Nobody knows more about the job than before the claim, so its deaths count on.
    @Test(arguments: StoreKind.allCases)
    func whatHasNotBegunIsAsBeforeItsClaim(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let handle = try await queue.enqueue(Echo(text: ""), .exclusive(by: "key"))
            let dead = try await Ghost(queue)
            #expect(try await dead.claim().count == 1)
            try await dead.die()
            #expect(try await queue.store.rescue(in: "tests").count == 1)
            let ghost = try await Ghost(queue)
            for verdict in [AttemptVerdict.notBegun, .handedBack] {
                let claimed = try await ghost.claim()
                #expect(claimed.map(\.attempt) == [2])
                let ended = claimed.map { EndedAttempt($0.token, verdict) }
                #expect(try await ghost.exchange(ended).verdicts == [.accepted(.available)])
                // Without an answer the worker repeats the report.
                #expect(try await ghost.exchange(ended).verdicts == [.fenced])
                #expect(try await queue.rowCount("durable_job_lock") == 0)
                let isAttempt = if case .handedBack = verdict { true } else { false }
                #expect(try await queue.info(handle.id)?.attempt == (isAttempt ? 2 : 1))
                #expect(
                    try await queue.rowCount("durable_job WHERE deaths = 1")
                        == (isAttempt ? 0 : 1))
            }
        }
    }

    /// The wait of a job ends when its body begins, not when a worker claims it.
    @Test(arguments: StoreKind.allCases)
    func theWaitOfAJobEndsWhenItsBodyBegins(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let start = ContinuousClock.now
            let waits = Locked<[Duration]>([])
            var options = testOptions
            options.observer = { event in
                guard case .started(_, _, _, let wait) = event else { return }
                waits.withLock { $0.append(wait) }
            }
            try await withWorker(queue, [Delayed.self], options: options) { _ async throws in
                _ = try await queue.enqueue(Delayed()).value
            }
            let wait = try #require(waits.withLock { $0 }.first)
            #expect(wait >= UnbegunJobs.patience && wait <= start.duration(to: .now))
        }
    }
}
#endif
