#if DurableJobs
import Operations

/// What is paused in a queue; see "Pauses" in Protocol.md.
package struct Pauses: Sendable, Hashable {
    /// The number of calls that have changed the pauses of the queue; 0 if nobody has.
    package var revision: Int64 = 0
    /// Why the whole queue is paused; nil if it is not.
    package var queueReason: String?
    /// The types of jobs that are paused, and why.
    package var reasons: [String: String] = [:]

    package init() {}

    /// Whether jobs of a type must not begin.
    package func isPaused(_ name: String) -> Bool {
        queueReason != nil || (!reasons.isEmpty && reasons[name] != nil)
    }

    /// Those of the types whose jobs may begin.
    package func unpaused(_ types: [PerformedJob]) -> [PerformedJob] {
        if queueReason != nil { return [] }
        return reasons.isEmpty ? types : types.filter { reasons[$0.name] == nil }
    }
}

/// A pause of a queue, or of a type of jobs in it.
package struct StoredPause: Sendable, Hashable {
    /// The name of the type; nil for the whole queue.
    package let name: String?
    package let reason: String
    /// Milliseconds since 1970.
    package let since: Int64
}

/// A worker that may still begin jobs although they are paused.
package struct WorkerBehind: Sendable, Hashable {
    package let host: String
    package let process: Int64
}

extension JobStore {
    /// The selected revision of the pauses of a queue, whose name is the argument.
    static let pauseRevision = """
        COALESCE((SELECT p.revision FROM durable_job_pause p WHERE p.queue = ? AND p.name = ''), 0)
        """

    /// The condition that the jobs of a table `j` are not paused.
    static let isUnpaused = """
        NOT EXISTS (
            SELECT 1 FROM durable_job_pause p
            WHERE p.queue = j.queue AND p.name IN ('', j.name) AND p.reason IS NOT NULL)
        """

    /// Writes a pause, or removes one.
    ///
    /// - Parameters:
    ///   - reason: nil to remove the pause.
    ///   - name: the type of jobs; nil for the whole queue.
    /// - Returns: the new revision of the queue's pauses.
    package func setPause(
        because reason: String?, of name: String?, in queue: String
    ) async throws -> Int64 {
        try await database.transaction(.durable) { session in
            // The row of the queue has the revision, and orders the calls.
            let revision =
                try session.query(
                    """
                    INSERT INTO durable_job_pause (queue, name, revision) VALUES (?, '', 1)
                    ON CONFLICT (queue, name) DO UPDATE SET
                        revision = durable_job_pause.revision + 1
                    RETURNING revision
                    """, [.text(queue)]
                ).first?.integer(0) ?? 0
            if let name, reason == nil {
                _ = try session.query(
                    "DELETE FROM durable_job_pause WHERE queue = ? AND name = ?",
                    [.text(queue), .text(name)])
                return revision
            }
            _ = try session.query(
                """
                INSERT INTO durable_job_pause (queue, name, revision, reason, paused_at)
                VALUES (?, ?, ?, ?, {now})
                ON CONFLICT (queue, name) DO UPDATE SET
                    reason = excluded.reason, paused_at = excluded.paused_at
                """,
                [.text(queue), .text(name ?? ""), .integer(revision), SQLValue(reason)])
            return revision
        }
    }

    /// Returns what is paused in a queue, as its workers need it.
    package func pauses(in queue: String) async throws -> Pauses {
        try await database.transaction(.reading) { session in
            var pauses = Pauses()
            for row in try session.query(
                "SELECT name, revision, reason FROM durable_job_pause WHERE queue = ?",
                [.text(queue)])
            {
                let name = row.text(0) ?? ""
                if name.isEmpty {
                    (pauses.revision, pauses.queueReason) = (row.integer(1), row.text(2))
                } else if let reason = row.text(2) {
                    pauses.reasons[name] = reason
                }
            }
            return pauses
        }
    }

    /// Returns the pauses of a queue for people: that of the queue first, and then those of types
    /// by their names.
    package func listPauses(in queue: String) async throws -> [StoredPause] {
        try await database.transaction(.reading) { session in
            try session.query(
                """
                SELECT name, reason, paused_at FROM durable_job_pause
                WHERE queue = ? AND reason IS NOT NULL ORDER BY name
                """, [.text(queue)]
            ).map { row in
                let name = row.text(0) ?? ""
                return StoredPause(
                    name: name.isEmpty ? nil : name, reason: row.text(1) ?? "",
                    since: row.integer(2))
            }
        }
    }

    /// Records that from now on a worker begins no job that a revision of the pauses forbids. The
    /// worker says so once, so a crash of the database must not lose it.
    package func obeyPauses(_ revision: Int64, _ worker: String) async throws {
        try await database.transaction(.durable) { session in
            _ = try session.query(
                "UPDATE durable_job_worker SET pauses = ? WHERE id = ?",
                [.integer(revision), .text(worker)])
        }
    }

    /// Returns the living workers of a queue that have not said that they obey a revision.
    package func workersBehind(
        _ revision: Int64, in queue: String
    ) async throws -> [WorkerBehind] {
        try await database.transaction(.reading) { session in
            try session.query(
                """
                SELECT host, process FROM durable_job_worker
                WHERE queue = ? AND (pauses IS NULL OR pauses < ?) AND {alive}
                ORDER BY host, process
                """, [.text(queue), .integer(revision)]
            ).map { WorkerBehind(host: $0.text(0) ?? "", process: $0.integer(1)) }
        }
    }
}
#endif
