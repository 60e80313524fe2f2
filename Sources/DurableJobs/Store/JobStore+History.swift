#if DurableJobs
import Operations

/// What one call has moved and deleted of a queue's history.
package struct PruneProgress: Sendable, Hashable {
    /// The number of jobs that left the table of jobs.
    package var moved = 0
    /// Whether nothing is left that is old enough.
    package var isDone = true
}

extension JobStore {
    /// The number of jobs that one transaction of
    /// ``prune(in:endedFor:discardedFor:keepingFor:portions:until:)`` moves. Results may be large,
    /// and other transactions of a SQLite file wait meanwhile.
    package static let prunedPortion = 100

    /// The archived jobs that are deleted first.
    package static let oldestArchived = """
        SELECT id FROM durable_job_archive WHERE queue = ? AND ended_at <= {now} - ?
        ORDER BY ended_at LIMIT \(prunedPortion) {delete_skip_locked}
        """

    /// The ended jobs that leave the table of jobs first: those with a condition of `JobSchema`.
    package static func oldestEnded(_ condition: String) -> String {
        """
        SELECT id FROM durable_job WHERE queue = ? AND \(condition)
            AND ended_at <= {now} - ? AND unresolved = 0 AND unpublished = 0
            AND uncounted = 0
            AND NOT EXISTS (
                SELECT 1 FROM durable_job_edge e
                WHERE e.dependency = durable_job.id AND e.resolved = 0)
        ORDER BY ended_at LIMIT ? {delete_skip_locked}
        """
    }

    /// Moves jobs of a queue that ended some time ago to the archive, or deletes them; also deletes
    /// batches, and archived jobs that ended before another time. Some of them in each transaction.
    ///
    /// - Parameters:
    ///   - age: the time since the end of the other jobs.
    ///   - deadAge: the time since the end of dead letters; `age` if that is longer.
    ///   - portions: the most transactions for each of the four.
    ///   - isOver: asked before each transaction; if it returns true, the call returns.
    package func prune(
        in queue: String, endedFor age: Duration, discardedFor deadAge: Duration,
        keepingFor archiveAge: Duration?, portions: Int = .max,
        until isOver: () -> Bool = { false }
    ) async throws -> PruneProgress {
        let deadAge = max(age, deadAge)
        var progress = PruneProgress()
        progress.moved = try await repeating(portions, &progress.isDone, isOver) {
            try await moveEnded(
                in: queue, ages: [(JobSchema.isSettled, age), (JobSchema.isDeadLetter, deadAge)],
                isArchiving: archiveAge != nil)
        }
        // A batch counts the jobs that may still be retried.
        _ = try await repeating(portions, &progress.isDone, isOver) {
            try await pruneBatches(in: queue, olderThan: deadAge + (archiveAge ?? .zero))
        }
        _ = try await repeating(portions, &progress.isDone, isOver) {
            try await pruneGroups(of: queue)
        }
        guard let archiveAge else { return progress }
        _ = try await repeating(portions, &progress.isDone, isOver) {
            try await pruneArchive(of: queue, olderThan: archiveAge)
        }
        return progress
    }

    /// Calls a function until it has changed fewer rows than a portion has.
    ///
    /// - Parameter isDone: becomes false if rows may be left.
    /// - Returns: the number of rows.
    private func repeating(
        _ times: Int, _ isDone: inout Bool, _ isOver: () -> Bool,
        _ portion: () async throws -> Int
    ) async throws -> Int {
        var (total, rest) = (0, times)
        while rest > 0, !isOver() {
            let count = try await portion()
            total += count
            rest -= 1
            if count < Self.prunedPortion { return total }
        }
        isDone = false
        return total
    }

    /// - Parameter ages: for each condition, the time since the end of the jobs.
    private func moveEnded(
        in queue: String, ages: [(condition: String, age: Duration)], isArchiving: Bool
    ) async throws -> Int {
        try await database.transaction(.relaxed) { session in
            var rows: [SQLRow] = []
            for (condition, age) in ages where rows.count < Self.prunedPortion {
                rows += try session.query(
                    Self.oldestEnded(condition),
                    [
                        .text(queue), .integer(age.milliseconds),
                        .integer(Int64(Self.prunedPortion - rows.count)),
                    ])
            }
            // A program that has opened the store later has added an extension. Its rows would stay
            // without their jobs. The question comes after the jobs were read: an extension that
            // has rows of one of them is known now.
            guard try knowsExtensions(session) else { return 0 }
            let ids: [[SQLValue]] = rows.map { $0.integer(0) }.sorted().map { [.integer($0)] }
            if isArchiving {
                _ = try session.batch(
                    """
                    INSERT INTO durable_job_archive (id, queue, name, state, attempt, worker,
                        claim, result, error, is_upstream, enqueued_at, ended_at, unique_key)
                    SELECT id, queue, name, state, attempt, worker, claim, result, error,
                        is_upstream, enqueued_at, ended_at, unique_key
                    FROM durable_job WHERE id = ?
                    """, ids)
            }
            for (table, column) in [
                ("durable_job", "id"), ("durable_job_edge", "dependent"),
            ] {
                _ = try session.batch("DELETE FROM \(table) WHERE \(column) = ?", ids)
            }
            try `extension`?.willRemove(ids, session)
            return rows.count
        }
    }

    private func pruneArchive(of queue: String, olderThan age: Duration) async throws -> Int {
        try await database.transaction(.relaxed) { session in
            let rows = try session.query(
                Self.oldestArchived, [.text(queue), .integer(age.milliseconds)])
            _ = try session.batch(
                "DELETE FROM durable_job_archive WHERE id = ?", rows.map { [$0.values[0]] })
            return rows.count
        }
    }

    /// Deletes batches of which all jobs have ended, and to which nobody adds any.
    private func pruneBatches(in queue: String, olderThan age: Duration) async throws -> Int {
        try await database.transaction(.relaxed) { session in
            let rows = try session.query(
                """
                SELECT id FROM durable_job_batch b WHERE queue = ? AND created_at <= {now} - ?
                    AND (is_complete = 1 OR writer_until IS NULL OR writer_until < {now})
                    AND total <= (
                        SELECT COALESCE(SUM(completed + cancelled + discarded), 0)
                        FROM durable_job_count c WHERE c.batch = b.id)
                ORDER BY created_at LIMIT \(Self.prunedPortion) {delete_skip_locked}
                """, [.text(queue), .integer(age.milliseconds)])
            for (table, column) in [
                ("durable_job_batch", "id"), ("durable_job_count", "batch"),
            ] {
                _ = try session.batch(
                    "DELETE FROM \(table) WHERE \(column) = ?", rows.map { [$0.values[0]] })
            }
            return rows.count
        }
    }
}
#endif
