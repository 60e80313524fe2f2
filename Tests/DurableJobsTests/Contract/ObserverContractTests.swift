#if DurableJobs
import OperationsRuntime
import DurableJobs
import Operations
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// What telemetry reads from a store, and what it keeps there.
@Suite(.timeLimit(.minutes(5)))
struct ObserverContractTests {
    /// Stores a text with each job, and notes the texts of the attempts and how they end.
    private final class Witness: JobQueueObserver {
        struct Attempt: JobAttemptObserver {
            let lines: @Sendable (String) -> Void

            func perform(_ body: @Sendable () async throws -> Data) async throws -> Data {
                lines("begins")
                return try await body()
            }

            func attemptEnded(_ verdict: AttemptVerdict, error: (any Error)?) {
                switch verdict {
                case .completed: lines("completed")
                case .retry(let reason, _): lines("retry: \(reason), \(error == nil)")
                default: lines("\(verdict)")
                }
            }
        }

        let lines = Locked<[String]>([])
        let events = Locked(0)

        func traceOfNewJob() -> String? { "parent: é\n\"'" }

        func attemptBegins(_ job: ClaimedJob) -> (any JobAttemptObserver)? {
            let name = "\(job.attempt) \(job.trace ?? "nil")"
            return Attempt { [self] line in lines.withLock { $0.append("\(name) \(line)") } }
        }

        func workerReports(_ event: JobWorkerEvent) { events.withLock { $0 += 1 } }
    }

    @Test(arguments: StoreKind.allCases)
    func attemptsGetTheTextThatWasStoredWithTheirJob(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let witness = Witness()
            queue.observer.withLock { $0 = witness }
            let handle = try await queue.enqueue(
                Flaky(failures: 1), .retry(1, backoff: .none))
            try await withWorker(queue, [Flaky.self]) { _ async throws in
                #expect(try await handle.value == 2)
            }
            #expect(
                witness.lines.withLock { $0 } == [
                    "1 parent: é\n\"' begins", "1 parent: é\n\"' retry: failure 1, false",
                    "2 parent: é\n\"' begins", "2 parent: é\n\"' completed",
                ])
            #expect(witness.events.withLock { $0 } >= 4)
        }
    }

    /// A job whose worker died, one that waited for it, one that waited for that one, and one whose
    /// deadline has passed: no attempt reports any of these ends.
    @Test(arguments: StoreKind.allCases)
    func eachEndIsOneEvent(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let poison = try await queue.enqueue(Echo(text: ""))
            let ghost = try await Ghost(queue)
            #expect(try await ghost.claim().count == 1)
            let dependent = try await queue.enqueue(Echo(text: ""), after: poison)
            let another = try await queue.enqueue(Echo(text: ""), after: dependent)
            let late = try await queue.enqueue(
                Flaky(failures: 0), .deadline(Date(timeIntervalSince1970: 0)))
            try await ghost.die()

            let ends = Locked<[JobID: [String]]>([:])
            var options = testOptions
            options.deathLimit = 1
            options.observer = { event in
                guard case .ended(let job, let name, _, let state, let error) = event else {
                    return
                }
                let line = "\(name) \(state): \(error ?? "")"
                ends.withLock { $0[job, default: []].append(line) }
            }
            try await withWorker(queue, [Echo.self], options: options) { _ async throws in
                try await ended(4, in: queue)
            }
            #expect(
                ends.withLock { $0 } == [
                    poison.id: ["echo discarded: the worker that ran it died"],
                    dependent.id: [
                        "echo cancelled: job \(poison.id), on which it depends, was discarded"
                    ],
                    another.id: [
                        "echo cancelled: job \(dependent.id), on which it depends, was cancelled"
                    ],
                    late.id: ["flaky discarded: it had not ended by its deadline"],
                ])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func aCancelledJobIsOneEventOfItsQueueObject(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let witness = Witness()
            queue.observer.withLock { $0 = witness }
            let first = try await queue.enqueue(Echo(text: ""))
            try await queue.enqueue(Echo(text: ""), after: first)
            for _ in 0..<2 { try await queue.cancel(first.id) }
            #expect(try await queue.counts() == [.cancelled: 2])
            #expect(witness.events.withLock { $0 } == 2)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func theDepthCountsUnfinishedJobsOfItsQueue(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let empty = try await queue.store.depth(of: "tests")
            #expect(empty.counts.isEmpty && empty.oldestAge == nil)
            let other = try queue.queue("other")
            try await other.enqueue(Echo(text: ""))
            try await other.enqueue(Echo(text: ""), .delay(.seconds(60)))

            let job = Wait()
            let running = try await queue.enqueue(job)
            let failing = try await queue.enqueue(
                Flaky(failures: 1), .retry(1, backoff: .constant(.seconds(60))))
            try await withWorker(queue, [Wait.self, Flaky.self]) { _ async throws in
                #expect(await job.hasStarted)
                while try await queue.info(failing.id)?.state != .retryable { await Task.yield() }
                // The worker does not perform these.
                try await queue.enqueue((0..<3).map { Echo(text: "\($0)") })
                try await queue.enqueue(Echo(text: ""), .delay(.seconds(60)))
                try await queue.enqueue(Echo(text: ""), after: running, failing)
                let cancelled = try await queue.enqueue(Echo(text: ""))
                try await queue.cancel(cancelled.id)
                let now = try await queue.store.now()
                while try await queue.store.now() <= now + 5 { await Task.yield() }

                let depth = try await queue.store.depth(of: "tests")
                #expect(
                    depth.counts == [
                        .running: 1, .retryable: 1, .available: 3, .scheduled: 1, .blocked: 1,
                    ])
                let age = try #require(depth.oldestAge)
                #expect(age >= .milliseconds(5) && age < .seconds(300))
                job.goOn()
                #expect(try await running.value == 1)
                #expect(try await queue.store.depth(of: "tests").counts[.running] == nil)
            }
        }
    }
}
#endif
