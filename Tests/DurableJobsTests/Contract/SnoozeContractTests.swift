#if DurableJobs
import DurableJobs
import Operations
import Testing

/// Attempts that ask for a later one.
@Suite(.timeLimit(.minutes(5)))
struct SnoozeContractTests {
    /// Snoozes a number of times, and then returns the number of its attempt.
    struct Sleeper: Job {
        static let name = "sleeper"
        var board = Board.newName()
        var times: Int
        var delay = Duration.milliseconds(5)

        func perform(in context: JobContext) async throws -> Int {
            guard Board.count(board) > times else { throw Snooze(for: delay) }
            return context.attempt
        }
    }

    /// The dependent waits, the batch has no end, and the retries are left.
    @Test(arguments: StoreKind.allCases)
    func jobSnoozesAsOftenAsItLikes(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let job = Sleeper(times: 5)
            let batch = try await queue.enqueue(each: [job], .retry(1)) { $0 }
            let first = try #require(try await queue.list(name: "sleeper").first)
            let handle = queue.handle(of: Sleeper.self, id: first.id)
            let next = try await queue.enqueue(Echo(text: "next"), after: handle)
            try await withWorker(queue, [Sleeper.self, Echo.self]) { _ async throws in
                #expect(try await next.value == "next")
                #expect(try await handle.value == 1)
            }
            #expect(Board.value(job.board) == 6)
            let counts = try await batch.finished()
            #expect(counts.completed == 1 && counts.total == 1)
        }
    }

    /// A job that snoozes does not keep its key.
    @Test(arguments: StoreKind.allCases)
    func exclusiveKeyIsFreeMeanwhile(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let sleeper = Sleeper(times: 1, delay: .seconds(3600))
            let first = try await queue.enqueue(sleeper, .exclusive(by: "key"))
            let second = try await queue.enqueue(Echo(text: "second"), .exclusive(by: "key"))
            try await withWorker(queue, [Sleeper.self, Echo.self], width: 1) { _ async throws in
                #expect(try await second.value == "second")
            }
            let info = try #require(try await queue.info(first.id))
            #expect(info.state == .retryable && info.attempt == 0)
            #expect(
                try await queue.explain(first.id).contains("was postponed, and is tried again in"))
            #expect(try await queue.rowCount("durable_job_lock") == 0)
        }
    }

    @Test(arguments: [Duration.seconds(-1), .seconds(Int64.max)])
    func timeThatMakesNoSenseIsAFailureThatSaysWhatToWrite(_ delay: Duration) async throws {
        try await withQueue(.file) { queue async throws in
            let handle = try await queue.enqueue(Sleeper(times: 1, delay: delay))
            try await withWorker(queue, [Sleeper.self]) { _ async throws in
                let error = await #expect(throws: JobFailure.self) { try await handle.value }
                #expect(
                    error?.reason
                        == "Snooze(for: \(delay)): write a time from zero to a hundred years")
            }
        }
    }
}
#endif
