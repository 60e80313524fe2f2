#if DurableJobs
import Operations

/// The statements that follow the edges of a job that has ended; see "Ends and dependencies" in
/// Protocol.md.
enum Resolving {
    static func reason(_ id: JobID, _ end: String, _ condition: DependencyCondition) -> String {
        switch condition {
        case .failure: "job \(id), on whose failure it depends, was \(end)"
        case .success, .always: "job \(id), on which it depends, was \(end)"
        }
    }

    /// What the end of one job does to one dependent.
    private struct Effect {
        var met: Int64 = 0
        var unmet: (reason: String, isUpstream: Bool)?
    }

    private static let resolveEdges = TableStatement(
        ["job": .integer],
        """
        UPDATE durable_job_edge SET resolved = 1 FROM given
        WHERE dependency = job AND resolved = 0
        RETURNING dependent, condition, is_wide, dependency
        """)

    private static let countDown = TableStatement(
        ["job": .integer, "met": .integer],
        """
        UPDATE durable_job SET pending = pending - met,
            state = CASE WHEN pending > met THEN state
                WHEN run_at IS NOT NULL AND run_at > {now} THEN 1 ELSE 2 END
        FROM given WHERE id = job AND state = 0
        """)

    /// Resolves the edges of jobs that have ended in this transaction.
    ///
    /// - Returns: the dependents that ended. Edges of their own are left to resolve.
    static func resolve(
        _ jobs: [(id: JobID, state: JobState, isUpstream: Bool)], _ session: any SQLSession
    ) throws -> [EndedJob] {
        guard !jobs.isEmpty else { return [] }
        let edges = Dictionary(
            grouping: try session.query(resolveEdges, jobs.map { [.integer($0.id.rawValue)] })
        ) { $0.integer(3) }
        var effects: [Int64: Effect] = [:]
        for job in jobs {
            let end = JobEnd(job.state, isUpstream: job.isUpstream)
            for row in edges[job.id.rawValue] ?? [] {
                var effect = effects[row.integer(0)] ?? Effect()
                if !end.meets(row.integer(1)) {
                    let condition = DependencyCondition(rawValue: UInt(row.integer(1))) ?? .success
                    let isUpstream = end == .failed || end == .failedUpstream
                    effect.unmet = (
                        reason(job.id, job.state.description, condition),
                        isUpstream && condition == .success
                    )
                } else if !row.flag(2) {
                    effect.met += 1
                }
                effects[row.integer(0)] = effect
            }
        }
        var cancelled: [EndedJob] = []
        var counts: [(Int64?, JobState)] = []
        var countdowns: [[SQLValue]] = []
        for (dependent, effect) in effects.sorted(by: { $0.key < $1.key }) {
            if let unmet = effect.unmet {
                // The count-downs before this one come first: rows are locked in their order.
                try countDown(countdowns, session)
                countdowns = []
                let ended = try cancel(
                    JobID(dependent), because: unmet.reason, isUpstream: unmet.isUpstream, session)
                counts += ended.map { ($0.batch, .cancelled) }
                cancelled += ended.map(\.job)
            } else if effect.met > 0 {
                countdowns.append([.integer(dependent), .integer(effect.met)])
            }
        }
        try countDown(countdowns, session)
        // All rows of jobs come before the rows of counters, in every transaction.
        try BatchCounts.add(counts, worker: "", session)
        return cancelled
    }

    private static func countDown(_ rows: [[SQLValue]], _ session: any SQLSession) throws {
        guard !rows.isEmpty else { return }
        _ = try session.query(countDown, rows)
    }

    /// Cancels a job that is blocked. Its own edges are left to
    /// ``JobStore/resolveRest(reporting:)``.
    ///
    /// - Returns: the job and its batch; nothing if it was not blocked.
    static func cancel(
        _ id: JobID, because reason: String, isUpstream: Bool, _ session: any SQLSession
    ) throws -> [(job: EndedJob, batch: Int64?)] {
        let rows = try session.query(
            """
            UPDATE durable_job SET state = 11, error = ?, is_upstream = ?, ended_at = {now},
                unresolved = has_dependents
            WHERE id = ? AND state = 0 RETURNING name, attempt, batch
            """, [.text(reason), SQLValue(isUpstream), .integer(id.rawValue)])
        return rows.map { row in
            let job = EndedJob(
                id: id, name: row.text(0) ?? "", attempt: Int(row.integer(1)), state: .cancelled,
                error: reason)
            return (job, row.optionalInteger(2))
        }
    }
}

extension JobStore {
    /// The conditions of the jobs that the steps below look for, and ``dueUpkeep(in:)``.
    static let isUnresolved = "unresolved = 1"
    /// For the jobs of one queue.
    static let isUnchecked = "queue = ? AND unchecked = 1"
    static let isWide = "state = 0 AND is_wide = 1"

    /// Resolves the edges of jobs that an earlier transaction has ended, some hundred jobs in each
    /// transaction, until none is left.
    ///
    /// - Parameter report: is called after each transaction that has ended jobs.
    package func resolveRest(reporting report: ([EndedJob]) -> Void = { _ in }) async throws {
        while true {
            let ended = try await database.transaction(.relaxed) { session in
                let rows = try session.query(
                    """
                    SELECT id, state, is_upstream FROM durable_job WHERE \(Self.isUnresolved)
                    ORDER BY id LIMIT 500 {skip_locked}
                    """)
                guard !rows.isEmpty else { return nil as [EndedJob]? }
                _ = try session.batch(
                    "UPDATE durable_job SET unresolved = 0 WHERE id = ?",
                    rows.map { [.integer($0.integer(0))] })
                return try Resolving.resolve(
                    rows.map { (JobID($0.integer(0)), $0.state(1), $0.flag(2)) }, session)
            }
            guard let ended else { return }
            report(ended)
        }
    }

    /// Completes jobs that the program has stored in transactions of its own: marks their
    /// dependencies, and resolves the edges of those that have ended before the transaction was
    /// committed.
    ///
    /// - Parameter report: is called after the transaction.
    /// - Returns: the number of jobs.
    @discardableResult
    package func checkDependents(
        in queue: String, reporting report: ([EndedJob]) -> Void = { _ in }
    ) async throws -> Int {
        let (count, ended) = try await database.transaction(.relaxed) { session in
            let dependents = try session.query(
                """
                SELECT id FROM durable_job WHERE \(Self.isUnchecked) ORDER BY id LIMIT 100
                """, [.text(queue)]
            ).map { $0.integer(0) }
            guard !dependents.isEmpty else { return (0, [EndedJob]()) }
            let edges = try session.batch(
                "SELECT dependency FROM durable_job_edge WHERE dependent = ? AND resolved = 0",
                dependents.map { [.integer($0)] })
            let dependencies = Set(edges.joined().map { $0.integer(0) })
            // One statement for both, because rows are locked in the order of their numbers.
            let unchecked = Set(dependents)
            let all = dependencies.union(unchecked).sorted()
            let rows = try session.batch(
                """
                UPDATE durable_job SET
                    has_dependents = CASE WHEN ? = 1 THEN 1 ELSE has_dependents END,
                    unchecked = CASE WHEN ? = 1 THEN 0 ELSE unchecked END
                WHERE id = ? RETURNING state, is_upstream
                """,
                all.map {
                    [
                        SQLValue(dependencies.contains($0)), SQLValue(unchecked.contains($0)),
                        .integer($0),
                    ]
                })
            var ends: [(id: JobID, state: JobState, isUpstream: Bool)] = []
            for (id, rows) in zip(all, rows) where dependencies.contains(id) {
                let row =
                    try rows.first
                    ?? session.query(
                        "SELECT state, is_upstream FROM durable_job_archive WHERE id = ?",
                        [.integer(id)]
                    ).first
                guard let row, row.state(0).isEnded else { continue }
                ends.append((JobID(id), row.state(0), row.flag(1)))
            }
            return (dependents.count, try Resolving.resolve(ends, session))
        }
        report(ended)
        return count
    }

    /// Releases wide dependents whose dependencies have all ended.
    ///
    /// - Returns: whether any was released.
    package func releaseWide(in queue: String) async throws -> Bool {
        try await database.transaction(.relaxed) { session in
            let rows = try session.query(
                """
                SELECT id FROM durable_job j WHERE \(Self.isWide) AND NOT EXISTS (
                    SELECT 1 FROM durable_job_edge e WHERE e.dependent = j.id AND e.resolved = 0)
                ORDER BY id LIMIT 100 {skip_locked}
                """)
            guard !rows.isEmpty else { return false }
            _ = try session.batch(
                """
                UPDATE durable_job SET pending = 0,
                    state = CASE WHEN run_at IS NOT NULL AND run_at > {now} THEN 1 ELSE 2 END
                WHERE id = ? AND state = 0
                """, rows.map { [.integer($0.integer(0))] })
            return true
        }
    }
}

/// The counters of batches: one row for each batch and worker, so that workers do not wait for each
/// other.
enum BatchCounts {
    static func add(
        _ ends: [(batch: Int64?, state: JobState)], worker: String, sign: Int64 = 1,
        _ session: any SQLSession
    ) throws {
        var counts: [Int64: (Int64, Int64, Int64)] = [:]
        for case (let batch?, let state) in ends {
            var count = counts[batch] ?? (0, 0, 0)
            switch state {
            case .completed: count.0 += sign
            case .cancelled: count.1 += sign
            case .discarded: count.2 += sign
            case .blocked, .scheduled, .available, .running, .retryable: break
            }
            counts[batch] = count
        }
        guard !counts.isEmpty else { return }
        _ = try session.batch(
            """
            INSERT INTO durable_job_count (batch, worker, completed, cancelled, discarded)
            VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (batch, worker) DO UPDATE SET
                completed = durable_job_count.completed + excluded.completed,
                cancelled = durable_job_count.cancelled + excluded.cancelled,
                discarded = durable_job_count.discarded + excluded.discarded
            """,
            counts.sorted { $0.key < $1.key }.map {
                [
                    .integer($0.key), .text(worker), .integer($0.value.0), .integer($0.value.1),
                    .integer($0.value.2),
                ]
            })
    }
}
#endif
