#if DurableJobs
package import DurableJobs

#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// The table of bytes that are committed with a job, until another process has fetched them.
enum AttachmentTable {
    /// Stores the attachments of attempts that this transaction has ended with success.
    static func add(
        _ attachments: [(job: JobID, bytes: Data)], to queue: String, _ session: any SQLSession
    ) throws {
        _ = try session.batch(
            """
            INSERT INTO durable_job_attachment (job, queue, unique_key, byte_count, bytes)
            VALUES (?, ?, (SELECT unique_key FROM durable_job WHERE id = ?), ?, ?)
            ON CONFLICT (job) DO NOTHING
            """,
            attachments.map { attachment in
                let id = SQLValue.integer(attachment.job.rawValue)
                let count = Int64(attachment.bytes.count)
                return [id, .text(queue), id, .integer(count), .bytes(attachment.bytes)]
            })
    }

    /// Deletes the attachments of jobs, which are given by number.
    static func remove(_ jobs: [[SQLValue]], _ session: any SQLSession) throws {
        _ = try session.batch("DELETE FROM durable_job_attachment WHERE job = ?", jobs)
    }

    /// Returns the jobs that have attachments and one of the unique keys.
    static func jobs(
        with keys: [String], in queue: String, _ session: any SQLSession
    ) throws -> [String: JobID] {
        // Most queues have no attachments.
        guard
            try !session.query(
                "SELECT 1 FROM durable_job_attachment WHERE queue = ? LIMIT 1", [.text(queue)]
            ).isEmpty
        else { return [:] }
        let rows = try session.batch(
            "SELECT job FROM durable_job_attachment WHERE queue = ? AND unique_key = ?",
            keys.map { [.text(queue), .text($0)] })
        var found: [String: JobID] = [:]
        for (key, rows) in zip(keys, rows) { found[key] = rows.last.map { JobID($0.integer(0)) } }
        return found
    }
}

extension JobStore {
    /// Returns the attachment of a job; nil if there is none.
    package func attachment(of id: JobID) async throws -> Data? {
        try await database.transaction(.reading) { session in
            try session.query(
                "SELECT bytes FROM durable_job_attachment WHERE job = ?", [.integer(id.rawValue)]
            ).first?.bytes(0)
        }
    }

    /// Removes the attachment of a job, if there is one.
    package func removeAttachment(of id: JobID) async throws {
        try await database.transaction(.relaxed) { session in
            try AttachmentTable.remove([[.integer(id.rawValue)]], session)
        }
    }

    /// Returns the bytes of all attachments of a queue, which an index contains.
    package func attachmentByteCount(in queue: String) async throws -> Int64 {
        try await database.transaction(.reading) { session in
            try session.query(
                """
                SELECT CAST(COALESCE(SUM(byte_count), 0) AS BIGINT) FROM durable_job_attachment
                WHERE queue = ?
                """, [.text(queue)]
            ).first?.integer(0) ?? 0
        }
    }
}
#endif
