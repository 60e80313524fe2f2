#if DurableJobs
import Operations
import Testing

@testable import DurableJobs

/// Groups that take turns.
@Suite(.timeLimit(.minutes(5)))
struct GroupContractTests {
    private func texts(_ claimed: [ClaimedJob]) throws -> [String] {
        try claimed.map { try Echo.decode($0.arguments, version: 1).text }
    }

    private func jobs(_ tenant: String, _ numbers: Range<Int>) -> [Echo] {
        numbers.map { Echo(text: "\(tenant)\($0)") }
    }

    /// Each way to enqueue: one by one, many at once, and a batch.
    @Test(arguments: StoreKind.allCases)
    func groupsTakeTurns(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            try await queue.enqueue(jobs("a", 0..<500), .group("a"))
            try await queue.enqueue(jobs("a", 500..<502), .group("a"))
            for job in jobs("b", 0..<3) { try await queue.enqueue(job, .group("b")) }
            try await queue.enqueue(each: 0..<2, .group("c")) { Echo(text: "c\($0)") }
            let ghost = try await Ghost(queue)
            let claimed = try await ghost.claim(9)
            #expect(
                try texts(claimed) == ["a0", "b0", "c0", "a1", "b1", "c1", "a2", "b2", "a3"])
            // A group that comes later begins at the head.
            try await queue.store.recordHead(of: "tests", claimed[8].place)
            try await queue.enqueue(jobs("d", 0..<2), .group("d"))
            try await queue.enqueue(Echo(text: "single"))
            #expect(try texts(await ghost.claim(5)) == ["a4", "d0", "single", "a5", "d1"])
            #expect(try texts(await ghost.claim(1)) == ["a6"])
        }
    }

    /// A group that has been idle has no advantage, and none that it lost.
    @Test(arguments: StoreKind.allCases)
    func rowsOfIdleGroupsAreDeleted(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            try await queue.enqueue(jobs("a", 0..<5), .group("a"))
            try await queue.enqueue(jobs("b", 0..<50), .group("b"), .priority(.high))
            #expect(try await queue.rowCount("durable_job_group") == 2)
            let place = ReadyPlace(rank: 0, position: 5, id: 5)
            try await queue.store.recordHead(of: "tests", place)
            try await queue.prune(endedFor: .seconds(60))
            #expect(try await queue.rowCount("durable_job_group") == 1)
            let next = try await queue.enqueue(Echo(text: "a5"), .group("a"))
            let position = try await queue.store.database.transaction(.relaxed) {
                try $0.query(
                    "SELECT position FROM durable_job WHERE id = ?",
                    [.integer(next.id.rawValue)]
                ).first?.integer(0)
            }
            #expect(position == 6)
        }
    }

    /// The head of a batch is learned from jobs without groups only.
    @Test(arguments: StoreKind.allCases)
    func batchWithAndWithoutGroups(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            try await queue.store.recordHead(
                of: "tests", ReadyPlace(rank: 0, position: 100, id: 1))
            try await queue.enqueue(jobs("x", 0..<6)) { job in
                job.text < "x3" ? [.group("g")] : []
            }
            try await queue.enqueue(each: 0..<2_000) {
                Echo(text: "y\($0)")
            } traits: { job in
                job.text.hasSuffix("0") ? [.group("h")] : []
            }
            let positions = try await queue.store.database.transaction(.relaxed) {
                try $0.query(
                    "SELECT MIN(position), MAX(position) FROM durable_job WHERE id > 6"
                ).first?.values
            }
            #expect(positions == [.integer(101), .integer(1900)])
        }
    }
}
#endif
