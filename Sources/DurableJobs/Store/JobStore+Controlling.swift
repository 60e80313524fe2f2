#if DurableJobs
import Operations

extension JobStore {
    /// Cancels those of the jobs that have not ended, in one transaction. Jobs that run are marked;
    /// their workers cancel them.
    ///
    /// - Returns: the states after this, without the jobs that the store does not know.
    package func cancel(_ ids: [JobID], because reason: String) async throws -> [JobID: JobState] {
        let states = try await database.transaction(.durable) { session in
            var states: [JobID: JobState] = [:]
            var ended: [(batch: Int64?, state: JobState)] = []
            for id in ids.sorted() {
                let change = try Self.cancel(id, because: reason, session)
                states[id] = change.state
                if change.hasEnded { ended.append((change.batch, .cancelled)) }
            }
            try BatchCounts.add(ended, worker: "", session)
            return states
        }
        try await resolveRest()
        return states
    }

    /// - Returns: the state after this, nil if the store does not know the job; whether this call
    ///   ended the job; and the job's batch, if it did.
    private static func cancel(
        _ id: JobID, because reason: String, _ session: any SQLSession
    ) throws -> (state: JobState?, hasEnded: Bool, batch: Int64?) {
        let running = try session.query(
            """
            UPDATE durable_job SET cancel_reason = COALESCE(cancel_reason, ?)
            WHERE id = ? AND \(isRunning) RETURNING state
            """, [.text(reason), .integer(id.rawValue)])
        if let row = running.first { return (row.state(0), false, nil) }
        let ended = try session.query(
            """
            UPDATE durable_job SET state = 11, error = ?, ended_at = {now},
                unresolved = has_dependents
            WHERE id = ? AND state < 10 AND state <> 3 RETURNING batch
            """, [.text(reason), .integer(id.rawValue)])
        if let row = ended.first { return (.cancelled, true, row.optionalInteger(0)) }
        let others = try session.query(
            "SELECT state FROM durable_job WHERE id = ?", [.integer(id.rawValue)])
        return (others.first?.state(0), false, nil)
    }

    /// Makes those of the jobs available again that were discarded or cancelled, or that wait for
    /// their time, in one transaction.
    ///
    /// - Returns: the jobs that are available now. A job cannot run again if an unfinished job has
    ///   its unique key.
    package func retry(_ ids: [JobID]) async throws -> Set<JobID> {
        let retried = try await database.transaction(.durable) { session in
            var retried: [(id: JobID, queue: String, ended: (batch: Int64?, state: JobState))] = []
            for id in ids.sorted() {
                let rows = try session.query(
                    """
                    SELECT queue, state, batch FROM durable_job j
                    WHERE id = ? AND state IN (1, 4, 11, 12)
                        AND NOT EXISTS (
                            SELECT 1 FROM durable_job o WHERE o.queue = j.queue
                                AND o.unique_key = j.unique_key AND o.state < 10 AND o.id <> j.id)
                    {lock}
                    """, [.integer(id.rawValue)])
                guard let row = rows.first else { continue }
                _ = try session.query(
                    """
                    UPDATE durable_job SET state = 2, run_at = NULL, ended_at = NULL, error = NULL,
                        cancel_reason = NULL, deadline = NULL, is_upstream = 0, failures = 0,
                        deaths = 0, worker = NULL
                    WHERE id = ?
                    """, [.integer(id.rawValue)])
                retried.append((id, row.text(0) ?? "", (row.optionalInteger(2), row.state(1))))
            }
            try BatchCounts.add(retried.map(\.ended), worker: "", sign: -1, session)
            return retried
        }
        for queue in Set(retried.map(\.queue)) { database.announce(queue) }
        return Set(retried.map(\.id))
    }

    /// Moves jobs that ended some time ago to the archive, or deletes them; also deletes archived
    /// jobs that ended before another time. Some hundred jobs in each transaction.
    ///
    /// - Returns: the number of jobs that left the table of jobs.
    package func prune(
        endedFor age: Duration, keepingFor archiveAge: Duration?
    ) async throws -> Int {
        var total = 0
        while true {
            let count = try await database.transaction(.relaxed) { session in
                let rows = try session.query(
                    """
                    SELECT id FROM durable_job WHERE state >= 10 AND ended_at <= {now} - ?
                        AND unresolved = 0 AND unpublished = 0
                    ORDER BY ended_at LIMIT 500 {skip_locked}
                    """, [.integer(age.milliseconds)])
                let ids: [[SQLValue]] = rows.map { $0.integer(0) }.sorted().map { [.integer($0)] }
                if archiveAge != nil {
                    _ = try session.batch(
                        """
                        INSERT INTO durable_job_archive (id, queue, name, state, attempt, worker,
                            result, error, is_upstream, enqueued_at, ended_at)
                        SELECT id, queue, name, state, attempt, worker, result, error,
                            is_upstream, enqueued_at, ended_at FROM durable_job WHERE id = ?
                        """, ids)
                }
                _ = try session.batch("DELETE FROM durable_job WHERE id = ?", ids)
                _ = try session.batch("DELETE FROM durable_job_edge WHERE dependent = ?", ids)
                return rows.count
            }
            total += count
            if count < 500 { break }
        }
        try await database.transaction(.relaxed) { session in
            try removeAttachmentsWithoutJob(session)
            guard let archiveAge else { return }
            _ = try session.query(
                "DELETE FROM durable_job_archive WHERE ended_at <= {now} - ?",
                [.integer(archiveAge.milliseconds)])
        }
        return total
    }

    // MARK: Batches

    /// Makes a batch without jobs, and returns its number.
    package func makeBatch(_ name: String, in queue: String) async throws -> Int64 {
        try await database.transaction(.durable) { session in
            try session.query(
                """
                INSERT INTO durable_job_batch (queue, name, total, is_complete, created_at)
                VALUES (?, ?, 0, 0, {now}) RETURNING id
                """, [.text(queue), .text(name)]
            ).first?.integer(0) ?? 0
        }
    }

    /// Records that no more jobs will be added to a batch.
    package func completeBatch(_ id: Int64) async throws {
        try await database.transaction(.durable) { session in
            _ = try session.query(
                "UPDATE durable_job_batch SET is_complete = 1 WHERE id = ?", [.integer(id)])
        }
    }

    /// Returns the totals of a batch; nil if the store does not know it.
    package func batch(_ id: Int64) async throws -> JobBatchCounts? {
        try await database.transaction(.relaxed) { session in
            try session.query(
                """
                SELECT b.total, b.is_complete,
                    CAST(COALESCE(SUM(c.completed), 0) AS BIGINT),
                    CAST(COALESCE(SUM(c.cancelled), 0) AS BIGINT),
                    CAST(COALESCE(SUM(c.discarded), 0) AS BIGINT)
                FROM durable_job_batch b LEFT JOIN durable_job_count c ON c.batch = b.id
                WHERE b.id = ? GROUP BY b.id, b.total, b.is_complete
                """, [.integer(id)]
            ).first.map {
                JobBatchCounts(
                    total: Int($0.integer(0)), completed: Int($0.integer(2)),
                    cancelled: Int($0.integer(3)), discarded: Int($0.integer(4)),
                    isComplete: $0.flag(1))
            }
        }
    }
}
#endif
