#if DurableJobs
// What a store has beside jobs: its queues, and their workers.

/// A queue, as people see it.
package struct StoredQueue: Sendable {
    package let name: String
    /// The numbers of unfinished jobs, each up to ``JobStore/mostCounted``.
    package var counts: [JobState: Int] = [:]
    package var discarded = 0
    package var workers = 0
}

/// A worker, as people see it.
package struct StoredWorker: Sendable {
    package let id: String
    package let host: String
    package let process: Int64
    package let startedAt: Int64
    package let width: Int
    package let isStopping: Bool
    package let isAlive: Bool
    package var types: [PerformedJob] = []
    package var jobs: [JobID] = []
}

extension JobStore {
    /// The number up to which the jobs of a state are counted for an overview.
    package static let mostCounted = 10_000

    /// One step in an index for each queue.
    static let queueNames = """
        WITH RECURSIVE queues(found) AS (
            SELECT MIN(queue) FROM durable_job WHERE state <> 3 UNION ALL
            SELECT (SELECT MIN(queue) FROM durable_job WHERE state <> 3 AND queue > found)
            FROM queues WHERE found IS NOT NULL)
        SELECT found FROM queues WHERE found IS NOT NULL
        UNION SELECT queue FROM durable_job WHERE state = 3
        UNION SELECT queue FROM durable_job_worker WHERE {alive}
        UNION SELECT queue FROM durable_job_schedule
        """

    /// Returns the queues that have jobs, workers or schedules, in the order of their names.
    package func queues() async throws -> [StoredQueue] {
        try await database.transaction(.reading) { session in
            let names = try session.query(Self.queueNames).compactMap { $0.text(0) }.sorted()
            return try names.map { name in
                var queue = StoredQueue(name: name)
                let states: [JobState] = [
                    .blocked, .scheduled, .available, .retryable, .discarded,
                ]
                let counts = try session.batch(
                    """
                    SELECT COUNT(*) FROM (SELECT 1 FROM durable_job
                        WHERE queue = ? AND state = ? AND state <> 3 LIMIT ?) AS counted
                    """,
                    states.map {
                        [
                            .text(name), .integer(Int64($0.rawValue)),
                            .integer(Int64(Self.mostCounted)),
                        ]
                    })
                for (state, rows) in zip(states, counts) {
                    let count = Int(rows.first?.integer(0) ?? 0)
                    if state == .discarded {
                        queue.discarded = count
                    } else if count > 0 {
                        queue.counts[state] = count
                    }
                }
                let running = try session.query(
                    "SELECT COUNT(*) FROM durable_job WHERE queue = ? AND state = 3",
                    [.text(name)]
                ).first?.integer(0)
                if let running, running > 0 { queue.counts[.running] = Int(running) }
                queue.workers = Int(
                    try session.query(
                        "SELECT COUNT(*) FROM durable_job_worker WHERE queue = ? AND {alive}",
                        [.text(name)]
                    ).first?.integer(0) ?? 0)
                return queue
            }
        }
    }

    /// Returns the workers of a queue whose lease lasts, and those that still hold jobs, in the
    /// order of their starts.
    package func workers(of queue: String) async throws -> [StoredWorker] {
        try await database.transaction(.reading) { session in
            let rows = try session.query(
                """
                SELECT id, host, process, started_at, width, is_stopping,
                    CASE WHEN {alive} THEN 1 ELSE 0 END
                FROM durable_job_worker WHERE queue = ? ORDER BY started_at, id
                """, [.text(queue)])
            let jobs = try session.query(
                "SELECT worker, id FROM durable_job WHERE queue = ? AND state = 3 ORDER BY id + 0",
                [.text(queue)])
            let held = Dictionary(grouping: jobs) { $0.text(0) ?? "" }
            var workers = rows.map { row in
                StoredWorker(
                    id: row.text(0) ?? "", host: row.text(1) ?? "", process: row.integer(2),
                    startedAt: row.integer(3), width: Int(row.integer(4)),
                    isStopping: row.flag(5), isAlive: row.flag(6),
                    jobs: (held[row.text(0) ?? ""] ?? []).map { JobID($0.integer(1)) })
            }
            workers.removeAll { !$0.isAlive && $0.jobs.isEmpty }
            let types = try session.batch(
                "SELECT name, version FROM durable_job_performed WHERE worker = ? ORDER BY name",
                workers.map { [.text($0.id)] })
            for (index, rows) in types.enumerated() {
                workers[index].types = rows.map {
                    PerformedJob(name: $0.text(0) ?? "", version: Int($0.integer(1)))
                }
            }
            return workers
        }
    }
}
#endif
