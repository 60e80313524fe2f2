#if DurableJobs
import Operations
import OperationsRuntime
import Testing

@testable import DurableJobs

/// Keys with several places.
@Suite(.timeLimit(.minutes(5)))
struct LimitContractTests {
    /// Notes how many of its kind run.
    struct Counted: Job {
        static let name = "counted"
        static let most = Locked<[String: (now: Int, most: Int)]>([:])
        var board: String

        func perform(in context: JobContext) async throws -> NoOutput {
            Self.most.withLock { most in
                var count = most[board] ?? (0, 0)
                count.now += 1
                count.most = max(count.most, count.now)
                most[board] = count
            }
            for _ in 0..<20 { await Task.yield() }
            _ = try await context.queue.info(context.id)
            Self.most.withLock { $0[board]?.now -= 1 }
            return NoOutput()
        }
    }

    private func lockedJobs(_ queue: JobQueue) async throws -> [[Int64]] {
        try await queue.store.database.transaction(.relaxed) {
            try $0.query("SELECT job, slot FROM durable_job_lock ORDER BY slot").map {
                [$0.integer(0), $0.integer(1)]
            }
        }
    }

    private func parked(_ queue: JobQueue) async throws -> [Int64] {
        try await queue.store.database.transaction(.relaxed) {
            try $0.query("SELECT id FROM durable_job WHERE parked = 1 ORDER BY id").map {
                $0.integer(0)
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func atMostTheNumberRuns(_ kind: StoreKind) async throws {
        try await withStorage(kind) { storage async throws in
            let queue = try await JobQueue("tests", in: storage)
            let other = try await JobQueue("tests", in: storage)
            let board = Board.newName()
            let handles = try await queue.enqueue(
                (0..<60).map { _ in Counted(board: board) }, .limited(to: 3, by: "host"))
            try await withWorker(queue, [Counted.self], width: 4) { _ async throws in
                try await withWorker(other, [Counted.self], width: 4) { _ async throws in
                    for handle in handles { _ = try await handle.value }
                }
            }
            #expect(Counted.most.withLock { $0[board]?.most } ?? 0 <= 3)
            #expect(try await queue.rowCount("durable_job_lock") == 0)
            #expect(try await parked(queue).isEmpty)
            for queue in [queue, other] { await queue.close() }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func aClaimTakesPlacesAndParksTheRest(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let handles = try await queue.enqueue(
                (0..<5).map { Echo(text: "\($0)") }, .limited(to: 2, by: "host"))
            let ids = handles.map(\.id.rawValue)
            let ghost = try await Ghost(queue)
            let claimed = try await ghost.claim(4)
            #expect(claimed.map(\.token.job.rawValue) == Array(ids.prefix(2)))
            #expect(try await lockedJobs(queue) == [[ids[0], 0], [ids[1], 1]])
            #expect(try await parked(queue) == Array(ids.suffix(3)))
            #expect(
                try await queue.explain(handles[4].id).hasSuffix(
                    "waits for one of the 2 places of its key, which jobs \(ids[0]), \(ids[1]) have"
                ))
            // The end of one releases one, whether it has failed or not.
            let answer = try await ghost.exchange(
                [EndedAttempt(claimed[1].token, .retry(error: "", after: .seconds(60)))])
            #expect(answer.freedKey)
            #expect(try await parked(queue) == Array(ids.suffix(2)))
            #expect(try await ghost.claim(4).map(\.token.job.rawValue) == [ids[2]])
            #expect(try await lockedJobs(queue) == [[ids[0], 0], [ids[2], 1]])
        }
    }

    /// The places go with the jobs of a worker that dies.
    @Test(arguments: StoreKind.allCases)
    func rescueFreesThePlaces(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            try await queue.enqueue(
                (0..<3).map { Echo(text: "\($0)") }, .limited(to: 2, by: "host"))
            let ghost = try await Ghost(queue)
            #expect(try await ghost.claim(3).count == 2)
            try await ghost.die()
            #expect(try await queue.store.rescue(in: "tests").count == 2)
            #expect(try await queue.rowCount("durable_job_lock") == 0)
            _ = try await queue.store.releaseParked(in: "tests")
            let next = try await Ghost(queue)
            #expect(try await next.claim(3).count == 2)
        }
    }

    /// Each job takes one of the first places, as many as its own number says.
    @Test(arguments: StoreKind.allCases)
    func numbersOfOneKeyMayDiffer(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            func enqueue(_ traits: JobTrait...) async throws -> Int64 {
                try await queue.enqueue(Echo(text: ""), traits, after: []).id.rawValue
            }
            let ghost = try await Ghost(queue)
            let alone = try await enqueue(.exclusive(by: "host"))
            let two = [
                try await enqueue(.limited(to: 2, by: "host")),
                try await enqueue(.limited(to: 2, by: "host")),
            ]
            let three = try await enqueue(.limited(to: 3, by: "host"))
            let claimed = try await ghost.claim(4)
            #expect(try await lockedJobs(queue) == [[alone, 0], [two[0], 1], [three, 2]])
            #expect(try await parked(queue) == [two[1]])
            // The third place is of no use to the job that is parked.
            let last = try #require(claimed.first { $0.token.job.rawValue == three })
            _ = try await ghost.exchange([EndedAttempt(last.token, ghost.result(""))])
            #expect(try await parked(queue) == [two[1]])
            #expect(try await queue.store.releaseParked(in: "tests") == 0)
            let first = try #require(claimed.first { $0.token.job.rawValue == alone })
            _ = try await ghost.exchange([EndedAttempt(first.token, ghost.result(""))])
            #expect(try await parked(queue).isEmpty)
            #expect(try await ghost.claim(1).map(\.token.job.rawValue) == [two[1]])
        }
    }

    /// The released job may be cancelled before a claim takes it.
    @Test(arguments: StoreKind.allCases)
    func cancelledJobLeavesItsTurnToTheNext(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let handles = try await queue.enqueue(
                (0..<4).map { Echo(text: "\($0)") }, .limited(to: 2, by: "host"))
            let ghost = try await Ghost(queue)
            let claimed = try await ghost.claim(4)
            _ = try await ghost.exchange([EndedAttempt(claimed[0].token, ghost.result(""))])
            try await queue.cancel(handles[2].id)
            #expect(try await ghost.claim(4).isEmpty)
            #expect(try await queue.store.releaseParked(in: "tests") == 1)
            #expect(try await ghost.claim(4).map(\.token.job) == [handles[3].id])
        }
    }

    /// A worker of the version before takes an exclusive key in place of the limit.
    @Test(arguments: StoreKind.allCases)
    func programsOfVersion11TakeTheFirstPlace(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let handles = try await queue.enqueue(
                (0..<3).map { Echo(text: "\($0)") }, .limited(to: 2, by: "host"))
            try await queue.change(
                """
                INSERT INTO durable_job_lock (queue, key, job)
                SELECT queue, exclusive_key, id FROM durable_job WHERE id = ?
                """, .integer(handles[0].id.rawValue))
            try await queue.change(
                "UPDATE durable_job SET state = 3, worker = 'old' WHERE id = ?",
                .integer(handles[0].id.rawValue))
            let ghost = try await Ghost(queue)
            #expect(try await ghost.claim(3).map(\.token.job) == [handles[1].id])
            #expect(try await lockedJobs(queue).map { $0[1] } == [0, 1])
        }
    }

    @Test(arguments: [0, -1, 10_001])
    func numberThatMakesNoSenseIsRefused(_ count: Int) async throws {
        try await withQueue(.file) { queue async throws in
            let error = await #expect(throws: JobError.self) {
                try await queue.enqueue(Echo(text: ""), .limited(to: count, by: "host"))
            }
            #expect(error?.description.contains("use 1 to 10,000") == true)
        }
    }

    /// Only a digest of the key is stored.
    @Test(arguments: StoreKind.allCases)
    func keyMayBeLong(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let key = String(repeating: "k", count: 1 << 20)
            try await queue.enqueue(
                (0..<3).map { Echo(text: "\($0)") }, .limited(to: 2, by: key), .group(key))
            #expect(try await Ghost(queue).claim(3).count == 2)
        }
    }
}
#endif
