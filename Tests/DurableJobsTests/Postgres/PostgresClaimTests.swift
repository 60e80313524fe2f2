#if DurableJobsPostgres
import CDurableJobsLibPQ
import Operations
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import DurableJobs
@testable import DurableJobsPostgres

/// Which rows a claim locks, and how it finds them.
@Suite(.timeLimit(.minutes(5)))
struct PostgresClaimTests {
    private let types = (0..<30).map { "type \($0)" }

    /// Stores jobs of all types in turns.
    private func fill(_ queue: JobQueue, _ count: Int) async throws {
        let jobs = try (0..<count).map { number in
            NewJob(
                name: types[number % types.count], version: 1, arguments: Data(),
                options: try JobOptions([], of: Echo.self))
        }
        _ = try await queue.store.enqueue(jobs, in: queue.name)
    }

    /// A lock stays visible in its row, also after the end of the transaction.
    @Test func claimLocksTheJobsThatItTakesAndNoOthers() async throws {
        try await withDatabase { url in
            let queue = try await JobQueue("tests", in: .postgres(url))
            try await fill(queue, 900)
            let ghost = try await Ghost(queue, performing: types)
            #expect(try await ghost.claim(16).map(\.token.job.rawValue) == Array(1...16))
            let locked = try await queue.store.database.transaction(.reading) { session in
                try session.query(
                    "SELECT id FROM durable_job WHERE state = 2 AND xmax::TEXT <> '0'"
                ).map { $0.integer(0) }
            }
            #expect(locked.isEmpty)
            await queue.close()
        }
    }

    /// Another transaction holds more jobs than the claim wants.
    @Test func claimTakesTheJobsBehindThoseThatOthersHold() async throws {
        try await withDatabase { url in
            let queue = try await JobQueue("tests", in: .postgres(url))
            try await fill(queue, 90)
            let connection = try PostgresTarget(url).connect()
            defer { PQfinish(connection) }
            let session = PostgresSession(connection)
            try session.execute("BEGIN")
            _ = try session.query("SELECT 1 FROM durable_job WHERE id <> 3 AND id <= 50 FOR UPDATE")
            let ghost = try await Ghost(queue, performing: types)
            #expect(try await ghost.claim(5).map(\.token.job.rawValue) == [3, 51, 52, 53, 54])
            #expect(try await ghost.claim(100).map(\.token.job.rawValue) == Array(55...90))
            try session.execute("COMMIT")
            #expect(
                try await ghost.claim(100).map(\.token.job.rawValue)
                    == (1...50).filter { $0 != 3 })
            await queue.close()
        }
    }

    /// Whoever looks at the same time takes other jobs.
    @Test func claimsAtTheSameTimeTakeEachJobOnce() async throws {
        try await withDatabase { url in
            let queue = try await JobQueue("tests", in: .postgres(url))
            try await fill(queue, 400)
            let taken = try await withThrowingTaskGroup(of: [Int64].self) { group in
                for _ in 0..<4 {
                    let own = try await JobQueue("tests", in: .postgres(url))
                    let ghost = try await Ghost(own, performing: types)
                    group.addTask {
                        var taken: [Int64] = []
                        for _ in 0..<10 {
                            taken += try await ghost.claim(10).map(\.token.job.rawValue)
                        }
                        await own.close()
                        return taken
                    }
                }
                return try await group.reduce(into: []) { $0 += $1 }
            }
            #expect(taken.sorted() == Array(1...400))
            await queue.close()
        }
    }

    /// The server plans the statements once, perhaps while the table is new and has no statistics.
    @Test(arguments: [false, true])
    func lookFindsItsJobsByTheirTypesAndLocksThemByTheirNumbers(_ isAnalyzed: Bool) async throws {
        try await withDatabase { url in
            let queue = try await JobQueue("tests", in: .postgres(url))
            try await fill(queue, 900)
            for statement in [Choosing.locking, Choosing.lockingSuspects] {
                let plan = try await queue.store.database.transaction(.relaxed, on: .worker) {
                    session in
                    if isAnalyzed { _ = try session.query("ANALYZE durable_job") }
                    let arrays = statement.kinds.map { _ in SQLValue.text("{1}") }
                    return try session.query("EXPLAIN \(statement.arrays)", arrays).map {
                        $0.text(0) ?? ""
                    }
                }
                // One scan chooses, and one finds what was chosen.
                let scans = plan.filter { $0.contains("Scan using durable_job") }
                #expect(scans.count == 2, "\(plan)")
                #expect(scans.count { $0.contains("durable_job_pkey") } == 1, "\(plan)")
            }
            await queue.close()
        }
    }
}
#endif
