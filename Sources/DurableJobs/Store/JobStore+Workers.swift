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
    ///
    /// - Parameter pauses: the revision of the queue's pauses that the worker obeys.
    package func register(
        _ worker: String, queue: String, host: String, process: Int, width: Int = 0,
        lease: Duration, performing types: [PerformedJob],
        after earlier: EarlierIncarnations = .init(), obeying pauses: Int64 = 0
    ) async throws {
        try await database.transaction(.relaxed, on: .heartbeat) { session in
            _ = try session.query(
                """
                INSERT INTO durable_job_worker
                    (id, queue, host, process, started_at, lease_until, boot, pauses, width)
                VALUES (?, ?, ?, ?, {now}, {lease_now} + ?, {boot}, ?, ?)
                ON CONFLICT (id) DO NOTHING
                """,
                [
                    .text(worker), .text(queue), .text(host), .integer(Int64(process)),
                    .integer(lease.milliseconds), .integer(pauses), .integer(Int64(width)),
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

    /// Makes the jobs of earlier incarnations available again, and records that these incarnations
    /// have not died: their process lives. From then on no death of theirs counts, whether others
    /// have taken a job before, or take one that this transaction finds locked.
    ///
    /// Jobs whose cancellation was requested are left to the rescue, which ends them.
    private func handBack(
        _ earlier: EarlierIncarnations, _ session: any SQLSession
    ) throws {
        guard !earlier.workers.isEmpty else { return }
        let workers = earlier.workers.sorted().map { [SQLValue.text($0)] }
        _ = try session.batch(
            "UPDATE durable_job_worker SET is_stopping = 1 WHERE id = ?", workers)
        _ = try session.batch("DELETE FROM durable_job_performed WHERE worker = ?", workers)
        // A row that an application has locked would keep the worker from having a lease.
        let held = try session.batch(
            """
            SELECT id FROM durable_job WHERE worker = ? AND state = 3 AND cancel_reason IS NULL
            {skip_locked}
            """, workers
        ).joined().map { [$0.values[0]] }
        _ = try session.batch(
            "UPDATE durable_job SET state = 2, worker = NULL WHERE id = ?", held)
        try ExclusiveKeys.free(held, session)
        try Deaths.recount(earlier.jobs, session)
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

    /// Ends the lease of a worker that stops, and hands back what its earlier incarnations held.
    package func unregister(
        _ worker: String, after earlier: EarlierIncarnations = .init()
    ) async throws {
        try await database.transaction(.relaxed, on: .heartbeat) { session in
            try handBack(earlier, session)
            try removeRow(of: worker, session)
        }
    }

    /// Selects running jobs of a queue whose worker's lease has ended.
    ///
    /// Because of the sum, PostgreSQL does not read the whole table in the order of its key.
    static let abandoned = """
        SELECT id, worker, deaths, cancel_reason, has_dependents, batch, name, attempt, dead_workers
        FROM durable_job WHERE queue = ? AND state = 3 AND worker NOT IN (
            SELECT id FROM durable_job_worker WHERE {alive})
        ORDER BY id + 0 LIMIT 500 {skip_locked}
        """

    /// Takes running jobs of a queue from workers whose lease has ended.
    ///
    /// A job that this death would discard stays with its worker until that counts as dead.
    ///
    /// - Parameters:
    ///   - deathLimit: how many deaths of its workers in a row discard a job that was the only one
    ///     at the last death.
    ///   - isDead: whether a worker without a lease counts as dead, and not only as missing.
    ///   - report: is called after the transaction.
    /// - Returns: the number of jobs, and the workers that hold jobs until they count as dead.
    package func rescue(
        in queue: String, deathLimit: Int = 3,
        isDead: @escaping @Sendable (String) -> Bool = { _ in true },
        reporting report: ([EndedJob]) -> Void = { _ in }
    ) async throws -> (count: Int, missing: Set<String>) {
        let rescue = try await database.transaction(.relaxed) { session in
            let rows = try session.query(Self.abandoned, [.text(queue)])
            var rescue = Rescue(deathLimit: Int64(min(max(1, deathLimit), 1_000_000)))
            try self.rescue(rows, &rescue, isDead, session)
            try forgetWorkers(session)
            return rescue
        }
        report(rescue.ended)
        return (rescue.count, rescue.missing)
    }

    /// Deletes the rows of workers whose lease ended a day ago. Until then `explain` shows them,
    /// and their deaths count.
    private func forgetWorkers(_ session: any SQLSession) throws {
        _ = try session.query(
            """
            UPDATE durable_job_worker SET ended_at = {now}
            WHERE ended_at IS NULL AND NOT {alive}
            """)
        _ = try session.query(
            "DELETE FROM durable_job_worker WHERE ended_at < {now} - 86400000 AND NOT {alive}")
        _ = try session.query(
            """
            DELETE FROM durable_job_performed WHERE worker NOT IN (
                SELECT id FROM durable_job_worker)
            """)
    }

    /// What a rescue has done.
    private struct Rescue {
        let deathLimit: Int64
        var count = 0
        var missing: Set<String> = []
        /// The jobs that ended, and those that were cancelled because of them.
        var ended: [EndedJob] = []
    }

    /// The number of running jobs of a worker's process.
    private func jobCount(
        ofProcessOf worker: String, _ session: any SQLSession
    ) throws -> Int64 {
        // All workers of a process die with it.
        try session.query(
            """
            SELECT COUNT(*) FROM durable_job WHERE state = 3
                AND \(Self.processOfWorker("worker")) = \(Self.processOfWorker("CAST(? AS TEXT)"))
            """, [.text(worker)]
        ).first?.integer(0) ?? 0
    }

    /// The part of a worker's identifier that all workers of its process have.
    private static func processOfWorker(_ identifier: String) -> String {
        "substr(\(identifier), 1, 36)"
    }

    /// The multiple of the limit of deaths that discards a job which never ran alone, because its
    /// process has other workers that are always busy.
    private static let deathLimitInCompany: Int64 = 3

    private func rescue(
        _ rows: [SQLRow], _ rescue: inout Rescue, _ isDead: (String) -> Bool,
        _ session: any SQLSession
    ) throws {
        guard !rows.isEmpty else { return }
        var updates: [[SQLValue]] = []
        var ends: [(JobID, JobState, Bool)] = []
        var counts: [(Int64?, JobState)] = []
        var jobCounts: [String: Int64] = [:]
        for worker in Set(rows.compactMap { $0.text(1) }) {
            jobCounts[worker] = try jobCount(ofProcessOf: worker, session)
        }
        let lists = rows.map { Deaths.workers($0.text(8), count: $0.integer(2)) }
        let known = try Deaths.counting(Set(lists.joined()).union(jobCounts.keys), session)
        for (row, list) in zip(rows, lists) {
            let worker = row.text(1) ?? ""
            let counted = (list + [worker]).filter(known.contains)
            let deaths = Int64(counted.count)
            let isInCompany = jobCounts[worker, default: 0] > 1
            let limit = rescue.deathLimit * (isInCompany ? Self.deathLimitInCompany : 1)
            var (state, error) = (JobState.available, nil as String?)
            if let reason = row.text(3) {
                (state, error) = (.cancelled, reason)
            } else if deaths >= limit, known.contains(worker) {
                guard isDead(worker) else {
                    rescue.missing.insert(worker)
                    continue
                }
                state = .discarded
                error =
                    deaths == 1
                    ? "the worker that ran it died"
                    : "\(deaths) workers in a row died while they ran it"
            }
            updates.append([
                .integer(Int64(state.rawValue)), .integer(deaths), Deaths.text(counted),
                SQLValue(error), row.values[0], row.values[1],
            ])
            guard state.isEnded else { continue }
            rescue.ended.append(
                EndedJob(
                    id: JobID(row.integer(0)), name: row.text(6) ?? "",
                    attempt: Int(row.integer(7)), state: state, error: error))
            counts.append((row.optionalInteger(5), state))
            if row.flag(4) { ends.append((JobID(row.integer(0)), state, false)) }
        }
        rescue.count = updates.count
        _ = try session.batch(
            """
            UPDATE durable_job SET state = ?, worker = NULL, deaths = ?, dead_workers = ?,
                error = ?, ended_at = {now}
            WHERE id = ? AND worker = ? AND \(Self.isRunning)
            """, updates)
        try ExclusiveKeys.free(updates.map { [$0[4]] }, session)
        try BatchCounts.add(counts, worker: "", session)
        rescue.ended += try Resolving.resolve(ends, session)
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
                    EXISTS (SELECT 1 FROM durable_job WHERE \(Self.isOverdue)),
                    EXISTS (SELECT 1 FROM durable_job WHERE \(Self.isUncounted)),
                    \(Self.pauseRevision), \(Self.timeToNextSchedule),
                    \(Self.hasTurnedBackSchedule)
                """, Array(repeating: .text(queue), count: 6))
            guard let row = rows.first else { return DueUpkeep() }
            return DueUpkeep(
                hasUnchecked: row.flag(0), hasUnresolved: row.flag(1), hasWide: row.flag(2),
                hasOverdue: row.flag(3), hasUncounted: row.flag(4),
                pauses: row.integer(5),
                timeToNextSchedule: row.optionalInteger(6).map { Duration(milliseconds: $0) },
                hasTurnedBackSchedule: row.flag(7))
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
    /// Jobs that a transaction of the program has completed.
    package var hasUncounted = false
    /// The revision of the queue's pauses.
    package var pauses: Int64 = 0
    /// The time until the next time of a schedule, negative if that has come; nil if there is none.
    package var timeToNextSchedule: Duration?
    /// A schedule whose next time was computed when the store's clock was ahead.
    package var hasTurnedBackSchedule = false

    var firesSchedules: Bool {
        hasTurnedBackSchedule || timeToNextSchedule.map { $0 <= .zero } ?? false
    }
}
#endif
