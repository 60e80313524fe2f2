#if DurableJobs
package import DurableJobs
import Operations

/// A completed job whose files may still have their staged names.
package struct UnpublishedJob: Sendable {
    package let id: JobID
    /// The text of ``StagedFiles``.
    package let outputs: String
    package let endedAt: Int64

    fileprivate init(_ row: SQLRow) {
        (id, outputs) = (JobID(row.integer(0)), row.text(1) ?? "[]")
        endedAt = row.integer(2)
    }
}

extension JobStore {
    /// The condition of a commit that is at least some milliseconds old. A commit in the future is
    /// old, too: the clock was set back since, and its age is unknown.
    private static let isOld = "(ended_at <= {now} - ? OR ended_at > {now})"

    /// The largest number of jobs that one call of `unpublished(for:after:)` returns.
    package static let unpublishedPage = 100

    /// Returns completed jobs of a queue with staged files that were committed at least `age` ago,
    /// in the order of their commits.
    ///
    /// - Parameter last: the last job of the page before; nil for the first page.
    package func unpublished(
        for age: Duration, in queue: String, after last: UnpublishedJob? = nil
    ) async throws -> [UnpublishedJob] {
        try await database.transaction(.reading) { session in
            try session.query(
                """
                SELECT id, outputs, ended_at FROM durable_job
                WHERE queue = ? AND unpublished = 1 AND \(Self.isOld)
                    AND (ended_at > ? OR (ended_at = ? AND id > ?))
                ORDER BY ended_at, id LIMIT \(Self.unpublishedPage)
                """,
                [
                    .text(queue), .integer(age.milliseconds), .integer(last?.endedAt ?? -1),
                    .integer(last?.endedAt ?? -1), .integer(last?.id.rawValue ?? 0),
                ]
            ).map(UnpublishedJob.init)
        }
    }

    /// Returns those of the given jobs that have staged files and were committed at least `age`
    /// ago.
    package func unpublished(
        for age: Duration, among ids: [JobID]
    ) async throws -> [UnpublishedJob] {
        guard !ids.isEmpty else { return [] }
        return try await database.transaction(.reading) { session in
            try session.batch(
                """
                SELECT id, outputs, ended_at FROM durable_job
                WHERE id = ? AND unpublished = 1 AND \(Self.isOld)
                """, ids.map { [.integer($0.rawValue), .integer(age.milliseconds)] }
            ).joined().map(UnpublishedJob.init)
        }
    }

    /// Returns the attempts, of those given by job and number, that may still run.
    package func running(
        _ attempts: [(job: JobID, attempt: Int)]
    ) async throws -> [Bool] {
        try await database.transaction(.reading) { session in
            try session.batch(
                """
                SELECT 1 FROM durable_job WHERE id = ? AND attempt = ?
                    AND (state = 3 OR unpublished = 1)
                """, attempts.map { [.integer($0.job.rawValue), .integer(Int64($0.attempt))] }
            ).map { !$0.isEmpty }
        }
    }

    /// Whether any attempt runs, or is committed and not yet published.
    package func mayHaveStagedFiles() async throws -> Bool {
        try await database.transaction(.reading) { session in
            try !session.query(
                """
                SELECT 1 WHERE EXISTS (SELECT 1 FROM durable_job WHERE state = 3)
                    OR EXISTS (SELECT 1 FROM durable_job WHERE unpublished = 1)
                """, []
            ).isEmpty
        }
    }
}
#endif
