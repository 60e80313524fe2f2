#if DurableJobs
#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

// Steps 4 and 10 of Protocol.md: bytes that are committed with a job, until another process has
// fetched them.

extension JobStore {
    /// Stores the attachments of attempts that this transaction has ended with success.
    func add(
        _ attachments: [(job: JobID, bytes: Data)], to queue: String, _ session: any SQLSession
    ) throws {
        guard !attachments.isEmpty else { return }
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
            _ = try session.query(
                "DELETE FROM durable_job_attachment WHERE job = ?", [.integer(id.rawValue)])
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
