#if DurableJobs
import Operations

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// The end of a job in a transaction of the program; see "Transactions of the program" in
/// Protocol.md.
package enum Completing {
    /// Completes the job of an attempt.
    ///
    /// The transaction may stay open for long. So it writes the row of the job alone, for which no
    /// worker waits. What follows from the end is left to ``JobStore/followCompleted(in:)``.
    ///
    /// - Throws: ``JobError/fenced(_:)`` if another attempt has the job, or the job has ended;
    ///   ``JobCancellation`` if somebody has cancelled it.
    package static func complete(
        _ token: AttemptToken, with result: Data, _ session: any SQLSession
    ) throws {
        let values: [SQLValue] = [
            .integer(token.job.rawValue), .integer(token.claim), .text(token.worker),
        ]
        let isOfToken = "id = ? AND claim = ? AND worker = ? AND \(JobStore.isRunning)"
        let rows = try session.query(
            """
            UPDATE durable_job SET state = 10, result = ?, error = NULL, deaths = 0,
                ended_at = {now}, uncounted = 1
            WHERE \(isOfToken) AND cancel_reason IS NULL RETURNING id
            """, [.bytes(result)] + values)
        guard rows.isEmpty else { return }
        let reason = try session.query(
            "SELECT cancel_reason FROM durable_job WHERE \(isOfToken)", values
        ).first?.text(0)
        guard let reason else { throw JobError.fenced(token.job) }
        throw JobCancellation(id: token.job, reason: reason)
    }
}

extension JobStore {
    /// The condition, for the jobs of one queue, of ``followCompleted(in:)``.
    static let isUncounted = "queue = ? AND uncounted = 1"

    /// Does what follows from the ends of jobs that transactions of the program have completed:
    /// counts them in their batches, and frees their exclusive keys. Their edges get the mark
    /// `unresolved`.
    ///
    /// - Returns: the number of jobs.
    package func followCompleted(in queue: String) async throws -> Int {
        try await database.transaction(.relaxed) { session in
            let rows = try session.query(
                """
                SELECT id, batch FROM durable_job WHERE \(Self.isUncounted)
                ORDER BY id LIMIT 500 {skip_locked}
                """, [.text(queue)])
            guard !rows.isEmpty else { return 0 }
            let ids = rows.map { [$0.values[0]] }
            _ = try session.batch(
                "UPDATE durable_job SET uncounted = 0, unresolved = has_dependents WHERE id = ?",
                ids)
            try ExclusiveKeys.free(ids, session)
            try BatchCounts.add(
                rows.map { ($0.optionalInteger(1), .completed) }, worker: "", session)
            return rows.count
        }
    }
}
#endif
