#if DurableJobs
import DurableJobs
import Operations

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A worker that only exists in the store. It performs ``Echo``, unless it is told otherwise.
struct Ghost {
    let store: JobStore
    let queue: String
    let id: String
    let types: [PerformedJob]

    init(
        _ queue: JobQueue, lease: Duration = .seconds(60), performing names: [String] = ["echo"],
        process: Int = 1, container: String = "ghost"
    ) async throws {
        let identity = "\(container) \(process)"
        let padding = String(repeating: " ", count: 36 - identity.count)
        id = "\(identity)\(padding)\(UUID().uuidString)"
        (store, self.queue) = (queue.store, queue.name)
        types = names.map { PerformedJob(name: $0, version: 1) }
        try await store.register(
            id, queue: queue.name, host: "ghost", process: process, lease: lease,
            performing: types)
    }

    func claim(_ count: Int = 1) async throws -> [ClaimedJob] {
        try await exchange([], wanted: count).claimed
    }

    func exchange(
        _ ended: [EndedAttempt], wanted: Int = 0, known: [AttemptToken]? = nil,
        suspectDeaths: Int = .max, mayClaimSuspect: Bool = false, pauses: Int64 = 0
    ) async throws -> ExchangeAnswer {
        var exchange = Exchange(worker: id, queue: queue)
        exchange.ended = ended
        exchange.wanted = wanted
        exchange.performed = types
        exchange.known = known
        exchange.suspectDeaths = suspectDeaths
        exchange.mayClaimSuspect = mayClaimSuspect
        exchange.pauses = pauses
        return try await store.exchange(exchange)
    }

    /// Claims a number of jobs, and commits them with the text as their result.
    @discardableResult
    func complete(_ count: Int, with text: String = "") async throws -> [JobID] {
        let claimed = try await claim(count)
        _ = try await exchange(claimed.map { EndedAttempt($0.token, result(text)) })
        return claimed.map(\.token.job)
    }

    func result(_ text: String) -> AttemptVerdict {
        .completed(result: Data("\"\(text)\"".utf8))
    }

    func result(attachment: Data) -> AttemptVerdict {
        .completed(
            result: Data("\(attachment.count)".utf8), addition: EndAddition(bytes: attachment))
    }

    /// Lets the lease end, as if no heartbeat had come. The worker's row stays.
    func loseLease() async throws {
        try await store.database.transaction(.durable) { [id] in
            _ = try $0.query(
                "UPDATE durable_job_worker SET lease_until = 0 WHERE id = ?", [.text(id)])
        }
    }

    /// Begins a new incarnation after the lease was lost, as a worker does whose process lives.
    func comeBack(from attempts: [ClaimedJob]) async throws {
        var earlier = EarlierIncarnations()
        earlier.add(id, attempts.map(\.token.job))
        try await store.register(
            UUID().uuidString, queue: queue, host: "ghost", process: 1, lease: .seconds(60),
            performing: types, after: earlier)
    }

    /// Ends as a worker does whose process dies.
    func die() async throws { try await loseLease() }
}

extension JobQueue {
    /// Changes rows of the tables as a test needs them.
    func change(_ sql: String, _ arguments: SQLValue...) async throws {
        try await store.database.transaction(.durable) { _ = try $0.query(sql, arguments) }
    }

    /// Changes the row of a claimed job as a crash of the database does that loses the claim.
    func loseClaim(of job: JobID) async throws {
        try await change(
            """
            UPDATE durable_job SET state = 2, attempt = attempt - 1, worker = NULL, claim = 0
            WHERE id = ? AND state = 3
            """, .integer(job.rawValue))
    }

    /// Takes back what version 12 of the tables has added.
    static let changesToVersion11 = [
        "DROP TABLE durable_job_pause", "DROP TABLE durable_job_group",
        "ALTER TABLE durable_job_worker DROP COLUMN pauses",
        "ALTER TABLE durable_job DROP COLUMN slots", "DROP INDEX durable_job_lock_base",
        "ALTER TABLE durable_job_lock DROP COLUMN slot",
        "ALTER TABLE durable_job_lock DROP COLUMN base",
    ]

    /// The number of rows of a table.
    func rowCount(_ table: String) async throws -> Int {
        try await store.database.transaction(.relaxed) {
            Int(try $0.query("SELECT COUNT(*) FROM \(table)").first?.integer(0) ?? 0)
        }
    }
}
#endif
