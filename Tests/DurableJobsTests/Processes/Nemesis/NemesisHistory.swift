#if DurableJobs && JOB_FAULTS
import Operations

@testable import DurableJobs

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Many jobs that ended long ago, which the workers of a round move to the archive.
///
/// Of twenty, one was discarded 40 days ago. The others ended two days ago: one was discarded, and
/// stays, one was cancelled, and the rest completed. Beside them, the archive has a quarter as many
/// jobs that it need not keep any longer.
struct NemesisHistory: Sendable {
    /// The number of jobs in the rounds that have a history, unless they have another one.
    static let usualCount = 30_000
    private static let portion = 50_000
    private static let day: Int64 = 86_400_000

    let count: Int
    private let queue: JobQueue

    init(count: Int, in queue: JobQueue) { (self.count, self.queue) = (count, queue) }

    /// Stores the jobs, and returns the greatest of their numbers.
    func store() async throws -> Int64 {
        let arguments = try JSONEncoder().encode(
            SlowWord(path: "", longestWait: 0, isObedient: true))
        for start in stride(from: 0, to: count, by: Self.portion) {
            let numbers = start..<min(count, start + Self.portion)
            let queue = SQLValue.text(queue.name)
            try await self.queue.store.database.transaction(.relaxed) { session in
                _ = try session.query(
                    """
                    WITH RECURSIVE n(i) AS (
                        SELECT \(numbers.lowerBound) UNION ALL
                        SELECT i + 1 FROM n WHERE i + 1 < \(numbers.upperBound))
                    INSERT INTO durable_job (queue, name, version, arguments, state, rank,
                        base_rank, position, attempt, retry_limit, pending, is_wide, is_upstream,
                        error, enqueued_at, ended_at)
                    SELECT CAST(? AS TEXT), '\(SlowWord.name)', 1, ?,
                        CASE WHEN i % 20 < 2 THEN 12 WHEN i % 20 = 2 THEN 11 ELSE 10 END, 0, 0, i,
                        1, 0, 0, 0, 0, CASE WHEN i % 20 < 3 THEN 'old' END,
                        {now} - \(50 * Self.day),
                        {now} - CASE WHEN i % 20 = 0 THEN \(40 * Self.day)
                            ELSE \(2 * Self.day) END
                    FROM n
                    """, [queue, .bytes(arguments)])
                _ = try session.query(
                    """
                    WITH RECURSIVE n(i) AS (
                        SELECT \(numbers.lowerBound) UNION ALL
                        SELECT i + 4 FROM n WHERE i + 4 < \(numbers.upperBound))
                    INSERT INTO durable_job_archive (id, queue, name, state, attempt, is_upstream,
                        enqueued_at, ended_at)
                    SELECT -1 - i, CAST(? AS TEXT), '\(SlowWord.name)', 10, 1, 0,
                        {now} - \(50 * Self.day), {now} - \(40 * Self.day)
                    FROM n
                    """, [queue])
            }
        }
        return try await number("SELECT MAX(id) FROM durable_job")
    }

    /// Returns what is wrong: jobs that are lost, there twice, or moved too early.
    ///
    /// - Parameter last: the greatest of the numbers of the jobs.
    func findings(until last: Int64) async throws -> [String] {
        let isYoung = "id BETWEEN 1 AND \(last) AND ended_at > {now} - \(30 * Self.day)"
        let young = """
            SELECT id FROM durable_job WHERE \(isYoung) UNION ALL
            SELECT id FROM durable_job_archive WHERE \(isYoung)
            """
        let all = try await number("SELECT COUNT(*) FROM (\(young)) AS young")
        let different = try await number("SELECT COUNT(DISTINCT id) FROM (\(young)) AS young")
        let dead = try await number(
            "SELECT COUNT(*) FROM durable_job WHERE state = 12 AND \(isYoung)")
        var wrong: [String] = []
        let expected = Int64(count - (count + 19) / 20)
        if all != expected || different != expected {
            wrong.append("\(all) jobs of the history are left, \(different) different ones")
        }
        if dead != Int64((count + 18) / 20) {
            wrong.append("\(dead) discarded jobs of the history can be retried")
        }
        return wrong
    }

    /// How many of the jobs the workers have moved.
    func moved(until last: Int64) async throws -> Int64 {
        Int64(count)
            - (try await number("SELECT COUNT(*) FROM durable_job WHERE id <= \(last)"))
    }

    private func number(_ query: String) async throws -> Int64 {
        try await queue.store.database.transaction(.reading) { session in
            try session.query(query).first?.integer(0) ?? 0
        }
    }
}
#endif
