#if DurableJobs
import Operations

/// The retry of some jobs, in one transaction. Locks the jobs and their dependencies in the order
/// of their numbers when it is made.
struct Retrying {
    private struct Edge {
        let dependency: JobID
        let condition: Int64
    }

    private struct Candidate {
        let queue: String
        let state: JobState
        let batch: Int64?
        let edges: [Edge]
    }

    /// The jobs that were retried.
    private(set) var retried: Set<JobID> = []
    /// Their queues.
    private(set) var queues: Set<String> = []
    /// Their batches, and the ends that they had.
    private(set) var ended: [(batch: Int64?, state: JobState)] = []

    private let session: any SQLSession
    private var candidates: [JobID: Candidate] = [:]
    private var rows: [JobID: SQLRow] = [:]

    init(_ ids: [JobID], _ session: any SQLSession) throws {
        self.session = session
        let ids = Set(ids).sorted()
        let edges = try session.batch(
            "SELECT dependency, condition FROM durable_job_edge WHERE dependent = ?",
            ids.map { [.integer($0.rawValue)] }
        ).map { rows in
            rows.map { Edge(dependency: JobID($0.integer(0)), condition: $0.integer(1)) }
        }
        let all = Set(ids).union(edges.joined().map(\.dependency)).sorted()
        let found = try session.batch(
            """
            SELECT state, is_upstream, queue, batch, unique_key FROM durable_job
            WHERE id = ? {lock}
            """, all.map { [.integer($0.rawValue)] })
        for (id, rows) in zip(all, found) { self.rows[id] = rows.first }
        for (id, edges) in zip(ids, edges) {
            guard let row = rows[id] else { continue }
            switch row.state(0) {
            case .scheduled, .retryable, .cancelled, .discarded:
                candidates[id] = Candidate(
                    queue: row.text(2) ?? "", state: row.state(0), batch: row.optionalInteger(3),
                    edges: edges)
            case .blocked, .available, .running, .completed: break
            }
        }
    }

    /// Retries a job, after those of its dependencies that are to be retried, too.
    mutating func retry(_ id: JobID) throws {
        guard let candidate = candidates.removeValue(forKey: id) else { return }
        var open: [Edge] = []
        for edge in candidate.edges {
            try retry(edge.dependency)
            guard let end = try end(of: edge.dependency) else {
                open.append(edge)
                continue
            }
            guard end.meets(edge.condition) else { return }
        }
        guard try isKeyFree(id, candidate.queue) else { return }
        try makeReady(id, candidate, open)
        retried.insert(id)
        queues.insert(candidate.queue)
        ended.append((candidate.batch, candidate.state))
    }

    /// The end of a job; nil if it has not ended, or was retried.
    private func end(of id: JobID) throws -> JobEnd? {
        if retried.contains(id) { return nil }
        let row =
            try rows[id]
            ?? session.query(
                "SELECT state, is_upstream FROM durable_job_archive WHERE id = ?",
                [.integer(id.rawValue)]
            ).first
        // A deleted job had ended; how, nobody knows any more.
        guard let row else { return .succeeded }
        return row.state(0).isEnded ? JobEnd(row.state(0), isUpstream: row.flag(1)) : nil
    }

    private func isKeyFree(_ id: JobID, _ queue: String) throws -> Bool {
        guard let key = rows[id]?.text(4) else { return true }
        return try session.query(
            """
            SELECT 1 FROM durable_job WHERE queue = ? AND unique_key = ? AND state < 10 AND id <> ?
            """, [.text(queue), .text(key), .integer(id.rawValue)]
        ).isEmpty
    }

    private func makeReady(_ id: JobID, _ candidate: Candidate, _ open: [Edge]) throws {
        let number = SQLValue.integer(id.rawValue)
        let waiting = Set(open.map(\.dependency))
        _ = try session.batch(
            "UPDATE durable_job SET has_dependents = 1 WHERE id = ?",
            waiting.sorted().map { [.integer($0.rawValue)] })
        _ = try session.batch(
            "UPDATE durable_job_edge SET resolved = ? WHERE dependent = ? AND dependency = ?",
            candidate.edges.map {
                [
                    SQLValue(!waiting.contains($0.dependency)), number,
                    .integer($0.dependency.rawValue),
                ]
            })
        _ = try session.query(
            """
            UPDATE durable_job SET state = ?, pending = ?, run_at = NULL, ended_at = NULL,
                error = NULL, cancel_reason = NULL, deadline = NULL, is_upstream = 0, failures = 0,
                deaths = 0, worker = NULL, unresolved = 0, parked = 0
            WHERE id = ?
            """,
            [
                .integer(open.isEmpty ? StateNumber.available : StateNumber.blocked),
                .integer(Int64(open.count)), number,
            ])
    }
}
#endif
