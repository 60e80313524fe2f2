#if DurableJobs
import Operations

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// The columns of a job that people see.
package struct StoredJob: Sendable {
    package let id: JobID
    package let queue: String
    package let name: String
    package let version: Int
    package let state: JobState
    package let priority: Int
    package let attempt: Int
    package let failures: Int
    package let retryLimit: Int
    package let runAt: Int64?
    package let enqueuedAt: Int64
    package let startedAt: Int64?
    package let endedAt: Int64?
    package let error: String?
    package let isExclusive: Bool
    package let isCancelRequested: Bool
    /// The worker's host and process, while the job runs.
    package let host: String?
    package let process: Int64?
    /// Nil for an archived job.
    package let arguments: Data?
    /// The number of places of its exclusive key.
    package let places: Int
    package let batch: Int64?
    package let deaths: Int
}

/// A dependency as `explain` shows it.
package struct StoredDependency: Sendable {
    package let job: StoredJob
    package let isResolved: Bool
}

/// The jobs of a queue that have not ended.
package struct QueueDepth: Sendable, Hashable {
    /// The numbers of jobs; a state without jobs is missing.
    package var counts: [JobState: Int] = [:]
    /// For how long the oldest available job has waited: since it was enqueued, its time came, or
    /// it was started last. Nil if no job is available.
    package var oldestAge: Duration?
}

extension JobStore {
    static let columns = """
        j.id, j.queue, j.name, j.version, j.state, j.rank, j.attempt, j.failures, j.retry_limit,
        j.run_at, j.enqueued_at, j.started_at, j.ended_at, j.error,
        CASE WHEN j.exclusive_key IS NULL THEN 0 ELSE 1 END,
        CASE WHEN j.cancel_reason IS NULL THEN 0 ELSE 1 END, w.host, w.process,
        j.arguments, COALESCE(j.slots, 1), j.batch, j.deaths
        """

    static let joinedWorker = """
        FROM durable_job j LEFT JOIN durable_job_worker w ON w.id = j.worker AND j.state = 3
        """

    static func job(_ row: SQLRow) -> StoredJob {
        StoredJob(
            id: JobID(row.integer(0)), queue: row.text(1) ?? "", name: row.text(2) ?? "",
            version: Int(row.integer(3)), state: row.state(4), priority: Int(-row.integer(5)),
            attempt: Int(row.integer(6)), failures: Int(row.integer(7)),
            retryLimit: Int(row.integer(8)), runAt: row.optionalInteger(9),
            enqueuedAt: row.integer(10), startedAt: row.optionalInteger(11),
            endedAt: row.state(4).isEnded ? row.optionalInteger(12) : nil, error: row.text(13),
            isExclusive: row.flag(14), isCancelRequested: row.flag(15), host: row.text(16),
            process: row.optionalInteger(17), arguments: row.bytes(18),
            places: Int(row.integer(19)), batch: row.optionalInteger(20),
            deaths: Int(row.integer(21)))
    }

    /// Returns the ends of those of the jobs that have ended, and the jobs that the store does not
    /// know.
    package func outcomes(
        of ids: [JobID]
    ) async throws -> (ended: [JobOutcome], unknown: [JobID]) {
        try await database.transaction(.reading) { session in
            let rows = try session.batch(
                "SELECT state, result, error, unpublished FROM durable_job WHERE id = ?",
                ids.map { [.integer($0.rawValue)] })
            var outcomes: [JobOutcome] = []
            var unknown: [JobID] = []
            for (id, rows) in zip(ids, rows) {
                let row =
                    try rows.first
                    ?? session.query(
                        """
                        SELECT state, result, error, 0 FROM durable_job_archive WHERE id = ?
                        """, [.integer(id.rawValue)]
                    ).first
                guard let row else {
                    unknown.append(id)
                    continue
                }
                guard row.state(0).isEnded else { continue }
                outcomes.append(
                    JobOutcome(
                        id: id, state: row.state(0), result: row.bytes(1), error: row.text(2),
                        isUnpublished: row.flag(3)))
            }
            return (outcomes, unknown)
        }
    }

    /// Returns a job; nil if the store does not know it. Of archived jobs some columns are missing.
    package func job(_ id: JobID) async throws -> StoredJob? {
        try await database.transaction(.reading) { session in
            let rows = try session.query(
                "SELECT \(Self.columns) \(Self.joinedWorker) WHERE j.id = ?",
                [.integer(id.rawValue)])
            if let row = rows.first { return Self.job(row) }
            return try session.query(
                """
                SELECT id, queue, name, 0, state, 0, attempt, 0, 0, NULL, enqueued_at, NULL,
                    ended_at, error, 0, 0, NULL, NULL, NULL, 1, NULL, 0
                FROM durable_job_archive WHERE id = ?
                """, [.integer(id.rawValue)]
            ).first.map(Self.job)
        }
    }

    /// Returns the names of a queue's jobs in a state, one step in the index for each of them.
    static func names(
        of state: JobState, in queue: String, _ session: any SQLSession
    ) throws -> [String] {
        func first(_ more: String) -> String {
            """
            SELECT MIN(name) FROM durable_job
            WHERE queue = ? AND state = ? AND state <> 3 \(more)
            """
        }
        let place: [SQLValue] = [.text(queue), .integer(Int64(state.rawValue))]
        return try session.query(
            """
            WITH RECURSIVE names(found) AS (
                \(first("")) UNION ALL
                SELECT (\(first("AND name > found"))) FROM names WHERE found IS NOT NULL)
            SELECT found FROM names WHERE found IS NOT NULL
            """, place + place
        ).compactMap { $0.text(0) }
    }

    /// Returns the number of jobs in each state, without archived ones.
    ///
    /// - Complexity: O(number of jobs in the queue), in an index.
    package func counts(of queue: String) async throws -> [JobState: Int] {
        try await database.transaction(.reading) { session in
            try Self.counts(of: queue, Self.counted, session)
        }
    }

    /// The numbers of jobs by their states, without running ones.
    static let counted = """
        SELECT state, COUNT(*) FROM durable_job WHERE queue = ? AND state <> 3 GROUP BY state
        """

    /// - Parameter statement: counts jobs without running ones, which are counted in any case.
    private static func counts(
        of queue: String, _ statement: String, _ session: any SQLSession
    ) throws -> [JobState: Int] {
        var counts: [JobState: Int] = [:]
        for row in try session.query(statement, [.text(queue)]) {
            counts[row.state(0)] = Int(row.integer(1))
        }
        let running = try session.query(
            "SELECT COUNT(*) FROM durable_job WHERE queue = ? AND state = 3", [.text(queue)])
        if let number = running.first?.integer(0), number > 0 { counts[.running] = Int(number) }
        return counts
    }

    /// Returns the number of unfinished jobs in each state, and the age of the oldest ready one.
    ///
    /// Reads unfinished jobs only, by indexes: the cost does not depend on the history.
    ///
    /// - Complexity: O(number of unfinished jobs in the queue, and of running jobs in the store).
    package func depth(of queue: String) async throws -> QueueDepth {
        try await database.transaction(.reading) { session in
            var depth = QueueDepth()
            depth.counts = try Self.counts(
                of: queue,
                """
                SELECT state, COUNT(*) FROM durable_job
                WHERE queue = ? AND state < 10 AND state <> 3 GROUP BY state
                """, session)
            // A job that was started before has waited since then.
            depth.oldestAge = try session.query(
                """
                SELECT {now} - MIN(COALESCE(run_at, started_at, enqueued_at)) FROM durable_job
                WHERE queue = ? AND state = 2
                """, [.text(queue)]
            ).first?.optionalInteger(0).map { Duration(milliseconds: max(0, $0)) }
            return depth
        }
    }

    /// Returns the dependencies of a job, at most `limit` unfinished ones and any number of others.
    package func dependencies(of id: JobID) async throws -> [StoredDependency] {
        try await database.transaction(.reading) { session in
            try session.query(
                """
                SELECT \(Self.columns), e.resolved \(Self.joinedWorker)
                JOIN durable_job_edge e ON e.dependency = j.id
                WHERE e.dependent = ? ORDER BY j.id
                """, [.integer(id.rawValue)]
            ).map { StoredDependency(job: Self.job($0), isResolved: $0.flag(22)) }
        }
    }

    /// Returns the jobs that have those places of the key of a job which it may take.
    package func holders(ofKeyOf id: JobID) async throws -> [StoredJob] {
        try await database.transaction(.reading) { session in
            try session.query(
                """
                SELECT \(Self.columns) \(Self.joinedWorker)
                JOIN durable_job_lock l ON l.job = j.id
                JOIN durable_job other ON other.queue = l.queue
                    AND (l.key = other.exclusive_key OR l.base = other.exclusive_key)
                    AND l.slot < COALESCE(other.slots, 1)
                WHERE other.id = ? ORDER BY j.id
                """, [.integer(id.rawValue)]
            ).map(Self.job)
        }
    }

    /// Returns how many ready jobs of the queue come before a ready job, counted up to a limit;
    /// without the jobs that wait for their exclusive key.
    package func readyJobs(before id: JobID, upTo limit: Int) async throws -> Int {
        try await database.transaction(.reading) { session in
            guard
                let row = try session.query(
                    "SELECT id, rank, position, queue FROM durable_job WHERE id = ?",
                    [.integer(id.rawValue)]
                ).first, let queue = row.text(3)
            else { return 0 }
            // The order of claims is in an index for each name.
            let counts = try session.batch(
                """
                SELECT COUNT(*) FROM (
                    SELECT 1 FROM durable_job
                    WHERE queue = ? AND name = ? AND state = 2 AND parked = 0
                        AND (rank, position, id) < (?, ?, ?)
                    LIMIT ?) AS earlier
                """,
                try Self.names(of: .available, in: queue, session).map {
                    [
                        row.values[3], .text($0), row.values[1], row.values[2], row.values[0],
                        .integer(Int64(limit)),
                    ]
                })
            return min(limit, counts.joined().reduce(0) { $0 + Int($1.integer(0)) })
        }
    }

    /// Returns the newest version of a type of job that a living worker of the queue performs; nil
    /// if none does.
    package func performedVersion(of name: String, in queue: String) async throws -> Int? {
        try await database.transaction(.reading) { session in
            try session.query(
                """
                SELECT MAX(p.version) FROM durable_job_performed p
                JOIN durable_job_worker w ON w.id = p.worker
                WHERE w.queue = ? AND p.name = ? AND {alive}
                """, [.text(queue), .text(name)]
            ).first?.optionalInteger(0).map { Int($0) }
        }
    }

    /// Returns the arguments of jobs that have not ended, in the order of their numbers.
    package func unfinishedArguments(
        of name: String, in queue: String
    ) async throws -> [(arguments: Data, version: Int)] {
        try await database.transaction(.reading) { session in
            try session.query(
                """
                SELECT arguments, version FROM durable_job
                WHERE queue = ? AND name = ? AND state < 10 ORDER BY id
                """, [.text(queue), .text(name)]
            ).map { ($0.bytes(0) ?? Data(), Int($0.integer(1))) }
        }
    }

    /// Returns the store's time in milliseconds since 1970.
    package func now() async throws -> Int64 {
        try await database.transaction(.reading) { try $0.now() }
    }
}
#endif
