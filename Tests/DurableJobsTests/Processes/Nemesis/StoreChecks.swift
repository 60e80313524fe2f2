#if DurableJobs && JOB_FAULTS
import FoundationEssentials
import Operations

@testable import DurableJobs

/// Checks the store and the folder of files when the faults are over.
struct StoreChecks: Sendable {
    let queue: JobQueue
    let folder: String

    /// Writes each commit to a table without a unique index, from now on.
    func logCommits(isFile: Bool) async throws {
        try await queue.store.database.transaction(.durable) { session in
            _ = try session.query("CREATE TABLE commits (job BIGINT)")
            let insert = "INSERT INTO commits VALUES (NEW.id)"
            if !isFile {
                _ = try session.query(
                    """
                    CREATE FUNCTION log_commit() RETURNS trigger LANGUAGE plpgsql AS $$
                    BEGIN \(insert); RETURN NULL; END $$
                    """)
            }
            _ = try session.query(
                """
                CREATE TRIGGER log_commit AFTER UPDATE OF result ON durable_job
                FOR EACH ROW WHEN (NEW.state = 10)
                \(isFile ? "BEGIN \(insert); END" : "EXECUTE FUNCTION log_commit()")
                """)
        }
    }

    private struct Row: Sendable {
        let id: JobID
        let state: JobState
        let attempt: Int
        let isUnpublished: Bool
        let result: Data
        let error: String
        let arguments: Data
    }

    private func rows() async throws -> [Row] {
        try await queue.store.database.transaction(.relaxed) { session in
            try session.query(
                """
                SELECT id, state, attempt, unpublished, result, error, arguments
                FROM durable_job ORDER BY id
                """
            ).map {
                Row(
                    id: JobID($0.integer(0)), state: $0.state(1), attempt: Int($0.integer(2)),
                    isUnpublished: $0.flag(3), result: $0.bytes(4) ?? Data(),
                    error: $0.text(5) ?? "no end", arguments: $0.bytes(6) ?? Data())
            }
        }
    }

    /// Returns what is wrong, and the number of attempts of each job.
    ///
    /// - Parameter confirmed: what the client has written.
    func findings(
        _ confirmed: [ClientLog.Entry]
    ) async throws -> (wrong: [String], attempts: [JobID: Int]) {
        var wrong = try await twiceCommitted()
        let rows = try await rows()
        for row in rows {
            guard row.state == .completed else {
                wrong.append("job \(row.id) did not complete: \(row.error)")
                continue
            }
            if row.isUnpublished { wrong.append("the file of job \(row.id) is not published") }
            let job = try SlowWord.decode(row.arguments, version: 1)
            let text = try? String(contentsOfFile: job.path, encoding: .utf8)
            if "\"\(text ?? "")\"" != String(decoding: row.result, as: UTF8.self) {
                wrong.append("the file of job \(row.id) is not the committed one")
            }
            let bytes = try await queue.attachment(of: row.id)
            if bytes != Data((text ?? "").utf8) {
                wrong.append("the attachment of job \(row.id) is not the committed one")
            }
        }
        wrong += lost(confirmed, rows)
        try await queue.removeStagedFiles(in: folder)
        let staged = try? FileManager.default.contentsOfDirectory(atPath: "\(folder)/.stage")
        // The mark of the folder stays.
        for name in staged ?? [] where !name.hasPrefix("folder-") {
            wrong.append("the staged file \(name) is left")
        }
        return (wrong, Dictionary(uniqueKeysWithValues: rows.map { ($0.id, $0.attempt) }))
    }

    private func twiceCommitted() async throws -> [String] {
        try await queue.store.database.transaction(.relaxed) { session in
            try session.query(
                """
                SELECT j.id, COUNT(c.job) FROM durable_job j LEFT JOIN commits c ON c.job = j.id
                WHERE j.state = 10 OR c.job IS NOT NULL GROUP BY j.id HAVING COUNT(c.job) <> 1
                """
            ).map { "job \($0.integer(0)) was committed \($0.integer(1)) times" }
        }
    }

    /// What the store has confirmed to the client must be there, as the client has read it.
    private func lost(_ confirmed: [ClientLog.Entry], _ rows: [Row]) -> [String] {
        let results = Dictionary(uniqueKeysWithValues: rows.map { ($0.id, $0.result) })
        return confirmed.flatMap { entry -> [String] in
            switch entry {
            case .enqueued(let ids):
                return ids.filter { results[$0] == nil }.map { "job \($0) is lost" }
            case .value(let id, let word):
                let result = results[id].map { String(decoding: $0, as: UTF8.self) }
                guard result != "\"\(word)\"" else { return [] }
                return ["the client has read another result of job \(id)"]
            case .failure(let id, let text):
                return ["the client has read a failure of job \(id): \(text)"]
            }
        }
    }
}
#endif
