#if DurableJobs
import Operations

/// The answer to a heartbeat.
package struct HeartbeatAnswer: Sendable {
    package let isAlive: Bool
    /// Running jobs of the worker whose cancellation was requested, with the reasons.
    package let cancelled: [(job: JobID, reason: String)]
}

extension JobStore {
    /// Makes the row of a worker, whose lease begins now, and hands back what its earlier
    /// incarnations held.
    package func register(
        _ worker: String, queue: String, host: String, process: Int, lease: Duration,
        performing types: [PerformedJob], after earlier: EarlierIncarnations = .init()
    ) async throws {
        try await database.transaction(.relaxed, on: .heartbeat) { session in
            _ = try session.query(
                """
                INSERT INTO durable_job_worker
                    (id, queue, host, process, started_at, lease_until, boot)
                VALUES (?, ?, ?, ?, {now}, {lease_now} + ?, {boot})
                ON CONFLICT (id) DO NOTHING
                """,
                [
                    .text(worker), .text(queue), .text(host), .integer(Int64(process)),
                    .integer(lease.milliseconds),
                ])
            _ = try session.batch(
                """
                INSERT INTO durable_job_performed (worker, name, version) VALUES (?, ?, ?)
                ON CONFLICT (worker, name) DO NOTHING
                """,
                types.map { [.text(worker), .text($0.name), .integer(Int64($0.version))] })
            try handBack(earlier, session)
        }
    }

    /// Makes the jobs of earlier incarnations available again. Other workers may have taken some
    /// meanwhile, and have counted a death, which was none: the process lives.
    ///
    /// Jobs whose cancellation was requested are left to the rescue, which ends them.
    private func handBack(
        _ earlier: EarlierIncarnations, _ session: any SQLSession
    ) throws {
        guard !earlier.workers.isEmpty else { return }
        var holders = earlier.attempts.mapValues(\.worker)
        for worker in earlier.workers {
            let rows = try session.query(
                "SELECT id FROM durable_job WHERE worker = ? AND state = 3", [.text(worker)])
            for row in rows { holders[JobID(row.integer(0))] = worker }
        }
        // A row that an application has locked would keep the worker from having a lease. The
        // rescue takes its job.
        let rows = try session.batch(
            """
            SELECT id, CASE WHEN worker = ? AND state = 3 THEN 1 ELSE 0 END, deaths
            FROM durable_job
            WHERE id = ? AND state + 0 < 10 AND cancel_reason IS NULL {skip_locked}
            """,
            holders.sorted { $0.key < $1.key }.map { [.text($0.value), .integer($0.key.rawValue)] }
        ).joined()
        let held: [[SQLValue]] = rows.filter { $0.flag(1) }.map { [$0.values[0]] }
        _ = try session.batch(
            "UPDATE durable_job SET state = 2, worker = NULL WHERE id = ?", held)
        _ = try session.batch(
            "UPDATE durable_job SET deaths = deaths - 1 WHERE id = ?",
            rows.filter { !$0.flag(1) && $0.integer(2) > 0 }.map { [$0.values[0]] })
        try ExclusiveKeys.free(held, session)
        for worker in earlier.workers.sorted() { try removeRow(of: worker, session) }
    }

    private func removeRow(of worker: String, _ session: any SQLSession) throws {
        for (table, column) in [
            ("durable_job_worker", "id"), ("durable_job_performed", "worker"),
        ] {
            _ = try session.query("DELETE FROM \(table) WHERE \(column) = ?", [.text(worker)])
        }
    }

    /// Renews the lease of a worker, unless it has ended.
    ///
    /// - Parameter isStopping: whether the worker was asked to stop. If its process is killed
    ///   meanwhile, its jobs are not the cause.
    package func beat(
        _ worker: String, lease: Duration, isStopping: Bool = false
    ) async throws -> HeartbeatAnswer {
        try await database.transaction(.relaxed, on: .heartbeat) { session in
            let rows = try session.query(
                """
                UPDATE durable_job_worker SET lease_until = {lease_now} + ?, is_stopping = ?
                WHERE id = ? AND {alive} RETURNING id
                """, [.integer(lease.milliseconds), SQLValue(isStopping), .text(worker)])
            let cancelled = try session.query(
                """
                SELECT id, cancel_reason FROM durable_job
                WHERE worker = ? AND state = 3 AND cancel_reason IS NOT NULL
                """, [.text(worker)])
            return HeartbeatAnswer(
                isAlive: !rows.isEmpty,
                cancelled: cancelled.map { (JobID($0.integer(0)), $0.text(1) ?? "") })
        }
    }

    /// Ends the lease of a worker that stops.
    package func unregister(_ worker: String) async throws {
        try await database.transaction(.relaxed, on: .heartbeat) { session in
            try removeRow(of: worker, session)
        }
    }

    /// Selects running jobs of a queue whose worker's lease has ended.
    ///
    /// Because of the sum, PostgreSQL does not read the whole table in the order of its key.
    static let abandoned = """
        SELECT id, worker, deaths, cancel_reason, has_dependents, batch, name, attempt
        FROM durable_job WHERE queue = ? AND state = 3 AND worker NOT IN (
            SELECT id FROM durable_job_worker WHERE {alive})
        ORDER BY id + 0 LIMIT 500 {skip_locked}
        """

    /// Takes running jobs of a queue from workers whose lease has ended.
    ///
    /// - Parameter deathLimit: how many deaths of its workers in a row discard a job that was the
    ///   only one at the last death.
    /// - Parameter report: is called after the transaction.
    /// - Returns: the number of jobs.
    package func rescue(
        in queue: String, deathLimit: Int = 3,
        reporting report: ([EndedJob]) -> Void = { _ in }
    ) async throws -> Int {
        let (count, ended) = try await database.transaction(.relaxed) { session in
            let rows = try session.query(Self.abandoned, [.text(queue)])
            let ended = try rescue(rows, Int64(min(max(1, deathLimit), 1_000_000)), session)
            // The rows of workers that died stay for a while: `explain` shows them.
            _ = try session.query(
                "DELETE FROM durable_job_worker WHERE started_at < {now} - 86400000 AND NOT {alive}"
            )
            _ = try session.query(
                """
                DELETE FROM durable_job_performed WHERE worker NOT IN (
                    SELECT id FROM durable_job_worker)
                """)
            return (rows.count, ended)
        }
        report(ended)
        return count
    }

    /// What the store knows about a worker whose jobs are rescued.
    private struct DeadWorker {
        var isStopping = false
        /// The number of jobs that its process held.
        var jobs: Int64 = 0
    }

    private func deadWorker(_ id: String, _ session: any SQLSession) throws -> DeadWorker {
        let row = try session.query(
            "SELECT is_stopping FROM durable_job_worker WHERE id = ?", [.text(id)]
        ).first
        // All workers of a process die with it.
        let count = try session.query(
            """
            SELECT COUNT(*) FROM durable_job WHERE state = 3
                AND \(Self.processOfWorker("worker")) = \(Self.processOfWorker("CAST(? AS TEXT)"))
            """, [.text(id)])
        return DeadWorker(
            isStopping: row?.flag(0) ?? false, jobs: count.first?.integer(0) ?? 0)
    }

    /// The part of a worker's identifier that all workers of its process have.
    private static func processOfWorker(_ identifier: String) -> String {
        "substr(\(identifier), 1, 36)"
    }

    /// The multiple of the limit of deaths that discards a job which never ran alone, because its
    /// process has other workers that are always busy.
    private static let deathLimitInCompany: Int64 = 3

    /// - Returns: the jobs that ended, and those that were cancelled because of them.
    private func rescue(
        _ rows: [SQLRow], _ deathLimit: Int64, _ session: any SQLSession
    ) throws -> [EndedJob] {
        guard !rows.isEmpty else { return [] }
        var ended: [EndedJob] = []
        var updates: [[SQLValue]] = []
        var ends: [(JobID, JobState, Bool)] = []
        var counts: [(Int64?, JobState)] = []
        var workers: [String: DeadWorker] = [:]
        for id in Set(rows.compactMap { $0.text(1) }) {
            workers[id] = try deadWorker(id, session)
        }
        for row in rows {
            let worker = workers[row.text(1) ?? ""] ?? DeadWorker()
            let deaths = row.integer(2) + (worker.isStopping ? 0 : 1)
            let limit = worker.jobs > 1 ? deathLimit * Self.deathLimitInCompany : deathLimit
            var (state, error) = (JobState.available, nil as String?)
            if let reason = row.text(3) {
                (state, error) = (.cancelled, reason)
            } else if deaths >= limit, !worker.isStopping {
                state = .discarded
                error = "\(deaths) workers in a row died while they ran it"
            }
            updates.append([
                .integer(Int64(state.rawValue)), .integer(deaths), SQLValue(error), row.values[0],
                row.values[1],
            ])
            guard state.isEnded else { continue }
            ended.append(
                EndedJob(
                    id: JobID(row.integer(0)), name: row.text(6) ?? "",
                    attempt: Int(row.integer(7)), state: state, error: error))
            counts.append((row.optionalInteger(5), state))
            if row.flag(4) { ends.append((JobID(row.integer(0)), state, false)) }
        }
        _ = try session.batch(
            """
            UPDATE durable_job SET state = ?, worker = NULL, deaths = ?, error = ?,
                ended_at = {now}
            WHERE id = ? AND worker = ? AND \(Self.isRunning)
            """, updates)
        try ExclusiveKeys.free(rows.map { [$0.values[0]] }, session)
        try BatchCounts.add(counts, worker: "", session)
        return ended + (try Resolving.resolve(ends, session))
    }

    /// Finds out which background steps have something to do. One statement, because every idle
    /// worker asks it once a second.
    package func dueUpkeep(in queue: String) async throws -> DueUpkeep {
        try await database.transaction(.reading) { session in
            session.endsWithNextStatement()
            let rows = try session.query(
                """
                SELECT
                    EXISTS (SELECT 1 FROM durable_job WHERE \(Self.isUnchecked)),
                    EXISTS (SELECT 1 FROM durable_job WHERE \(Self.isUnresolved)),
                    EXISTS (SELECT 1 FROM durable_job WHERE \(Self.isWide)),
                    EXISTS (SELECT 1 FROM durable_job WHERE \(Self.isOverdue))
                """, [.text(queue), .text(queue)])
            guard let row = rows.first else { return DueUpkeep() }
            return DueUpkeep(
                hasUnchecked: row.flag(0), hasUnresolved: row.flag(1), hasWide: row.flag(2),
                hasOverdue: row.flag(3))
        }
    }

    /// The condition, for the jobs of one queue, of ``discardOverdue(in:reporting:)``.
    private static let isOverdue = """
        queue = ? AND deadline <= {now} AND deadline IS NOT NULL AND state < 10 AND state <> 3
        """

    /// Because of the sum, PostgreSQL does not read the whole table in the order of its key.
    static let overdue = """
        SELECT id, name, batch, attempt FROM durable_job WHERE \(isOverdue)
        ORDER BY id + 0 LIMIT 500 {skip_locked}
        """

    /// Discards jobs of a queue that have not ended by their deadline and do not run.
    ///
    /// - Parameter report: is called after the transaction.
    /// - Returns: the number of jobs.
    package func discardOverdue(
        in queue: String, reporting report: ([EndedJob]) -> Void = { _ in }
    ) async throws -> Int {
        let reason = "it had not ended by its deadline"
        let ended = try await database.transaction(.relaxed) { session in
            let rows = try session.query(Self.overdue, [.text(queue)])
            _ = try session.batch(
                """
                UPDATE durable_job SET state = 12, error = ?, ended_at = {now},
                    unresolved = has_dependents
                WHERE id = ?
                """, rows.map { [.text(reason), $0.values[0]] })
            try BatchCounts.add(
                rows.map { ($0.optionalInteger(2), .discarded) }, worker: "", session)
            return rows.map { row in
                EndedJob(
                    id: JobID(row.integer(0)), name: row.text(1) ?? "",
                    attempt: Int(row.integer(3)), state: .discarded, error: reason)
            }
        }
        report(ended)
        return ended.count
    }

    /// Raises the priority of jobs that have waited for long: by one level for each time span since
    /// they were enqueued, or since their time came.
    ///
    /// Looks at the first jobs of each type and priority only, which are the oldest.
    ///
    /// - Returns: the number of raised jobs.
    @discardableResult
    package func raiseOld(in queue: String, span: Duration) async throws -> Int {
        guard span > .zero else { return 0 }
        let isOld = "{now} - COALESCE(run_at, enqueued_at) >= ? * ((base_rank - rank) / 4 + 1)"
        let milliseconds = SQLValue.integer(max(1, span.milliseconds))
        return try await database.transaction(.relaxed) { session in
            let names = try Self.names(of: .available, in: queue, session)
            var count = 0
            for level in [-4, 0, 4, 8] as [Int64] {
                let rows = try session.batch(
                    """
                    SELECT id FROM durable_job
                    WHERE queue = ? AND name = ? AND state = 2 AND parked = 0 AND rank = ?
                        AND \(isOld)
                    ORDER BY rank, position, id LIMIT 200 {skip_locked}
                    """, names.map { [.text(queue), .text($0), .integer(level), milliseconds] }
                ).joined()
                // Among the jobs of an exclusive key, the priority decides which is the next one.
                let parked = try session.query(
                    """
                    SELECT id FROM durable_job
                    WHERE queue = ? AND exclusive_key IS NOT NULL AND state = 2 AND parked = 1
                        AND rank = ? AND \(isOld)
                    LIMIT 200 {skip_locked}
                    """, [.text(queue), .integer(level), milliseconds])
                let ids = (rows + parked).map { $0.integer(0) }.sorted()
                _ = try session.batch(
                    "UPDATE durable_job SET rank = rank - 4 WHERE id = ? AND state = 2",
                    ids.map { [.integer($0)] })
                count += ids.count
            }
            return count
        }
    }

    /// Writes the head of the ready order, from which new batches count their positions.
    package func recordHead(of queue: String, _ place: ReadyPlace) async throws {
        try await database.transaction(.relaxed) { session in
            _ = try session.query(
                """
                INSERT INTO durable_job_head (queue, rank, position) VALUES (?, ?, ?)
                ON CONFLICT (queue, rank) DO UPDATE SET position = excluded.position
                """, [.text(queue), .integer(place.rank), .integer(place.position)])
        }
    }
}

/// Which background steps have something to do.
package struct DueUpkeep: Sendable, Hashable {
    /// Dependents that were stored in a transaction of the program.
    package var hasUnchecked = false
    /// Ended jobs whose edges are not resolved.
    package var hasUnresolved = false
    /// Blocked jobs with very many dependencies.
    package var hasWide = false
    package var hasOverdue = false
}
#endif
