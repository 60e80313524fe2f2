#if DurableJobs
import Operations

extension JobStore {
    /// Cancels those of the jobs that have not ended, in one transaction. Jobs that run are marked;
    /// their workers cancel them.
    ///
    /// - Parameter report: is called after each transaction that has ended jobs.
    /// - Returns: the states after this, without the jobs that the store does not know.
    package func cancel(
        _ ids: [JobID], because reason: String,
        reporting report: ([EndedJob]) -> Void = { _ in }
    ) async throws -> [JobID: JobState] {
        let (states, ended) = try await database.transaction(.durable) { session in
            try Self.cancel(ids, because: reason, session)
        }
        report(ended)
        try await resolveRest(reporting: report)
        return states
    }

    /// - Returns: the states after this, and the jobs that this call has ended.
    static func cancel(
        _ ids: [JobID], because reason: String, _ session: any SQLSession
    ) throws -> (states: [JobID: JobState], ended: [EndedJob]) {
        var states: [JobID: JobState] = [:]
        var counts: [(batch: Int64?, state: JobState)] = []
        var ended: [EndedJob] = []
        for id in ids.sorted() {
            let change = try cancel(id, because: reason, session)
            states[id] = change.state
            guard let job = change.ended else { continue }
            counts.append((change.batch, .cancelled))
            ended.append(job)
        }
        try BatchCounts.add(counts, worker: "", session)
        return (states, ended)
    }

    /// - Returns: the state after this, nil if the store does not know the job; and the job and its
    ///   batch, if this call ended the job.
    private static func cancel(
        _ id: JobID, because reason: String, _ session: any SQLSession
    ) throws -> (state: JobState?, ended: EndedJob?, batch: Int64?) {
        let running = try session.query(
            """
            UPDATE durable_job SET cancel_reason = COALESCE(cancel_reason, ?)
            WHERE id = ? AND \(isRunning) RETURNING state
            """, [.text(reason), .integer(id.rawValue)])
        if let row = running.first { return (row.state(0), nil, nil) }
        let ended = try session.query(
            """
            UPDATE durable_job SET state = 11, error = ?, ended_at = {now},
                unresolved = has_dependents
            WHERE id = ? AND state < 10 AND state <> 3 RETURNING batch, name, attempt
            """, [.text(reason), .integer(id.rawValue)])
        if let row = ended.first {
            let job = EndedJob(
                id: id, name: row.text(1) ?? "", attempt: Int(row.integer(2)), state: .cancelled,
                error: reason)
            return (.cancelled, job, row.optionalInteger(0))
        }
        let others = try session.query(
            "SELECT state FROM durable_job WHERE id = ?", [.integer(id.rawValue)])
        return (others.first?.state(0), nil, nil)
    }

    /// Retries those of the jobs that were discarded or cancelled, or that wait for their time, in
    /// one transaction. They wait for their dependencies, as new jobs do.
    ///
    /// - Returns: the jobs that were retried. A job is not retried if an unfinished job has its
    ///   unique key, or if a dependency has ended in another way than its condition demands.
    package func retry(_ ids: [JobID]) async throws -> Set<JobID> {
        let (retried, queues) = try await database.transaction(.durable) { session in
            let retrying = try Self.retry(ids, session)
            return (retrying.retried, retrying.queues)
        }
        for queue in queues { database.announce(queue) }
        return retried
    }

    static func retry(_ ids: [JobID], _ session: any SQLSession) throws -> Retrying {
        var retrying = try Retrying(ids, session)
        for id in ids.sorted() { try retrying.retry(id) }
        try BatchCounts.add(retrying.ended, worker: "", sign: -1, session)
        return retrying
    }

    // MARK: Batches

    /// Makes a batch without jobs, and returns its number.
    package func makeBatch(_ name: String, in queue: String) async throws -> Int64 {
        try await database.transaction(.durable) { session in
            try session.query(
                """
                INSERT INTO durable_job_batch
                    (queue, name, total, is_complete, created_at, writer_until)
                VALUES (?, ?, 0, 0, {now}, {now} + ?) RETURNING id
                """, [.text(queue), .text(name), .integer(Self.writerPatience.milliseconds)]
            ).first?.integer(0) ?? 0
        }
    }

    /// For how long a batch that is not complete waits for a sign of its writer.
    static let writerPatience = Duration.seconds(60)

    /// Records that a program adds jobs to a batch. From now on, the batch is not complete.
    ///
    /// - Returns: false if the store does not know the batch.
    @discardableResult
    package func renewWriter(of batch: Int64) async throws -> Bool {
        try await database.transaction(.relaxed) { session in
            try !session.query(
                """
                UPDATE durable_job_batch SET is_complete = 0, writer_until = {now} + ?
                WHERE id = ? RETURNING id
                """, [.integer(Self.writerPatience.milliseconds), .integer(batch)]
            ).isEmpty
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
        try await database.transaction(.reading) { session in
            try session.query(
                """
                SELECT b.total, b.is_complete,
                    CAST(COALESCE(SUM(c.completed), 0) AS BIGINT),
                    CAST(COALESCE(SUM(c.cancelled), 0) AS BIGINT),
                    CAST(COALESCE(SUM(c.discarded), 0) AS BIGINT),
                    CASE WHEN b.is_complete = 0 AND b.writer_until < {now} THEN 1 ELSE 0 END
                FROM durable_job_batch b LEFT JOIN durable_job_count c ON c.batch = b.id
                WHERE b.id = ? GROUP BY b.id, b.total, b.is_complete, b.writer_until
                """, [.integer(id)]
            ).first.map {
                JobBatchCounts(
                    total: Int($0.integer(0)), completed: Int($0.integer(2)),
                    cancelled: Int($0.integer(3)), discarded: Int($0.integer(4)),
                    isComplete: $0.flag(1), isAbandoned: $0.flag(5))
            }
        }
    }
}
#endif
