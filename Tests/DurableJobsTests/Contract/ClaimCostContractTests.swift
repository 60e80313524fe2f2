#if DurableJobs
import DurableJobs
import Operations
import Testing

/// What a claim does not look at.
@Suite(.timeLimit(.minutes(5)))
struct ClaimCostContractTests {
    @Test(arguments: StoreKind.allCases)
    func jobsBehindAnExclusiveKeyAreParkedAndReleasedInTheirOrder(
        _ kind: StoreKind
    ) async throws {
        try await withQueue(kind) { queue async throws in
            var handles: [JobHandle<String>] = []
            for number in 0..<6 {
                handles.append(
                    try await queue.enqueue(Echo(text: "\(number)"), .exclusive(by: "key")))
            }
            let free = try await queue.enqueue(Echo(text: "free"))
            let (first, second) = (try await Ghost(queue), try await Ghost(queue))
            // The others of the key are parked at the first claim that meets them.
            let held = try #require(try await first.claim(1).first).token
            #expect(held.job == handles[0].id)
            #expect(try await second.claim(2).isEmpty)
            #expect(try await second.claim(2).map(\.token.job) == [free.id])
            #expect(try await parked(queue) == handles.dropFirst().map(\.id))
            let ended = try await first.exchange([EndedAttempt(held, first.result(""))])
            #expect(ended.freedKey)
            #expect(try await parked(queue) == handles.dropFirst(2).map(\.id))
            // The released one is cancelled: a background step releases the next.
            try await queue.cancel(handles[1].id)
            #expect(try await queue.store.releaseParked(in: "tests") == 1)
            let next = try #require(try await second.claim(5).first).token
            #expect(next.job == handles[2].id)
            // Its worker dies.
            try await second.die()
            _ = try await queue.store.rescue(in: "tests")
            let types: [any Job.Type] = [Echo.self]
            try await withWorker(queue, types) { _ async throws in
                for handle in handles.dropFirst(2) { _ = try await handle.value }
            }
            #expect(try await parked(queue).isEmpty)
        }
    }

    private func parked(_ queue: JobQueue) async throws -> [JobID] {
        try await queue.store.database.transaction(.reading) { session in
            try session.query(
                "SELECT id FROM durable_job WHERE parked = 1 AND state = 2 ORDER BY id"
            )
            .map { JobID($0.integer(0)) }
        }
    }

    /// Several types in one claim keep the order of all.
    @Test(arguments: StoreKind.allCases)
    func typesAreClaimedInOneOrder(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            var ids: [JobID] = []
            for number in 0..<4 {
                ids.append(try await queue.enqueue(Echo(text: "\(number)")).id)
                ids.append(try await queue.enqueue(Flaky(failures: number)).id)
                try await queue.enqueue(Note(board: "", line: ""))
            }
            let ghost = try await Ghost(queue, performing: ["echo", "flaky", "unknown"])
            #expect(try await ghost.claim(5).map(\.token.job) == Array(ids.prefix(5)))
            #expect(try await ghost.claim(5).map(\.token.job) == Array(ids.dropFirst(5)))
        }
    }

    /// Thousands of jobs that the worker does not perform come first.
    @Test(arguments: StoreKind.allCases)
    func claimFindsItsJobsByTheirType(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            try await queue.enqueue((0..<3_000).map { Note(board: "", line: "\($0)") })
            let mine = try await queue.enqueue(Echo(text: ""))
            let plan = try await queue.store.database.transaction(.relaxed) { session in
                if kind != .file { _ = try session.query("ANALYZE durable_job") }
                let explain = kind == .file ? "EXPLAIN QUERY PLAN" : "EXPLAIN"
                return try session.query(
                    """
                    \(explain) SELECT id FROM durable_job
                    WHERE queue = ? AND name = ? AND version <= ? AND state = 2 AND parked = 0
                    ORDER BY rank, position, id LIMIT 1
                    """, [.text("tests"), .text("echo"), .integer(1)]
                ).flatMap(\.values).map { "\($0)" }
            }
            #expect(plan.contains { $0.contains("durable_job_claimable") }, "\(plan)")
            #expect(try await Ghost(queue).claim(5).map(\.token.job) == [mine.id])
        }
    }
}
#endif
