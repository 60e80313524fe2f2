#if DurableJobs && JOB_FAULTS
import DurableJobFiles
import Operations

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import DurableJobs

/// Checks the store and the folder of files when the faults are over.
struct StoreChecks: Sendable {
    let queue: JobQueue
    let folder: String
    /// The jobs up to this number are history.
    let first: Int64

    /// Writes each commit to a table without a unique index, from now on.
    func logCommits(isFile: Bool) async throws {
        try await queue.store.database.transaction(.durable) { session in
            _ = try session.query("CREATE TABLE commits (job BIGINT)")
            // What jobs write in the transaction in which they end.
            _ = try session.query("CREATE TABLE effect (job BIGINT)")
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

    /// Lets the store refuse some words, as a constraint of the application does.
    func refuseWords(isFile: Bool) async throws {
        let prefix = "\"\(SlowWord.refusedPrefix)"
        try await queue.store.database.transaction(.durable) { session in
            guard isFile else {
                _ = try session.query(
                    """
                    CREATE FUNCTION refuse_word() RETURNS trigger LANGUAGE plpgsql AS $$
                    BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = 'check_violation'; END $$
                    """)
                _ = try session.query(
                    """
                    CREATE TRIGGER refuse_word BEFORE UPDATE OF result ON durable_job
                    FOR EACH ROW WHEN (convert_from(NEW.result, 'UTF8') LIKE '\(prefix)%')
                    EXECUTE FUNCTION refuse_word()
                    """)
                return
            }
            _ = try session.query(
                """
                CREATE TRIGGER refuse_word BEFORE UPDATE OF result ON durable_job
                FOR EACH ROW WHEN CAST(NEW.result AS TEXT) LIKE '\(prefix)%'
                BEGIN SELECT RAISE(ABORT, 'refused'); END
                """)
        }
    }

    private struct Row: Sendable {
        let id: JobID
        let state: JobState
        let attempt: Int
        let worker: String?
        let deadWorkers: [String]
        let isUpstream: Bool
        let isUnpublished: Bool
        let failures: Int
        let retryLimit: Int
        let result: Data
        let error: String
        let arguments: Data

        var deaths: DeathChecks.Row {
            DeathChecks.Row(
                job: id, state: state, attempt: attempt, failures: failures,
                retryLimit: retryLimit, deadWorkers: deadWorkers, error: error)
        }
    }

    private func rows() async throws -> [Row] {
        try await queue.store.database.transaction(.relaxed) { session in
            try session.query(
                """
                SELECT id, state, attempt, unpublished, result, error, arguments, deaths,
                    dead_workers, is_upstream, worker, failures, retry_limit
                FROM durable_job WHERE queue = ? AND id > ? ORDER BY id
                """, [.text(queue.name), .integer(first)]
            ).map {
                Row(
                    id: JobID($0.integer(0)), state: $0.state(1), attempt: Int($0.integer(2)),
                    worker: $0.text(10),
                    deadWorkers: Deaths.workers($0.text(8), count: $0.integer(7)),
                    isUpstream: $0.flag(9), isUnpublished: $0.flag(3),
                    failures: Int($0.integer(11)), retryLimit: Int($0.integer(12)),
                    result: $0.bytes(4) ?? Data(), error: $0.text(5) ?? "no end",
                    arguments: $0.bytes(6) ?? Data())
            }
        }
    }

    /// Returns what is wrong, and the number of attempts of each job.
    ///
    /// - Parameters:
    ///   - confirmed: what the client has written.
    ///   - deaths: the check of the deaths of workers.
    ///   - ends: the check of the events of discarded jobs.
    func findings(
        _ confirmed: [ClientLog.Entry], _ deaths: DeathChecks, _ ends: EndChecks
    ) async throws -> (wrong: [String], attempts: [JobID: Int]) {
        var wrong = try await twiceCommitted()
        let rows = try await rows()
        let effects = try await effects()
        let incomplete = Set(rows.filter { $0.state != .completed }.map(\.id))
        wrong += try await batchFindings(confirmed)
        for row in rows {
            let job = try SlowWord.decode(row.arguments, version: 1)
            wrong += deaths.findings(row.deaths)
            let expected = job.endsInTransaction && row.state == .completed ? 1 : 0
            let found = effects[row.id.rawValue] ?? 0
            if found != expected {
                wrong.append("job \(row.id), which is \(row.state), has \(found) effects")
            }
            if job.isRefused, row.state == .discarded, row.error.contains("refuse") { continue }
            // Those of transactions that were rolled back are meant.
            if !job.endsInTransaction { wrong += deaths.findings(failures: row.deaths) }
            if job.isPoison, row.state != .discarded {
                wrong.append("job \(row.id), which kills its workers, is \(row.state)")
            }
            if row.state == .discarded {
                wrong += deaths.findings(discarded: row.deaths)
                continue
            }
            if job.isRefused {
                wrong.append("refused job \(row.id) is \(row.state): \(row.error)")
                continue
            }
            // Because of a job before it, for which the same is checked.
            if row.state == .cancelled, row.isUpstream,
                !incomplete.isDisjoint(with: job.dependencies)
            {
                continue
            }
            guard row.state == .completed else {
                wrong.append("job \(row.id) did not complete: \(row.error)")
                continue
            }
            if job.endsInTransaction { continue }
            if row.isUnpublished { wrong.append("the file of job \(row.id) is not published") }
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
        wrong += try await placeFindings()
        wrong += ends.findings(
            discarded: rows.filter { $0.state == .discarded }.map { ($0.id, $0.worker) })
        try await queue.removeStagedFiles(in: folder)
        let staged = try? FileManager.default.contentsOfDirectory(atPath: "\(folder)/.stage")
        // The mark of the folder stays.
        for name in staged ?? [] where !name.hasPrefix("folder-") {
            wrong.append("the staged file \(name) is left")
        }
        return (wrong, Dictionary(uniqueKeysWithValues: rows.map { ($0.id, $0.attempt) }))
    }

    /// No place of a key is left, and no job waits for one.
    private func placeFindings() async throws -> [String] {
        try await queue.store.database.transaction(.relaxed) { session in
            let places = try session.query("SELECT job FROM durable_job_lock").map {
                "job \($0.integer(0)) has a place of its key, and has ended"
            }
            let parked = try session.query(
                "SELECT id FROM durable_job WHERE queue = ? AND state = 2 AND parked = 1",
                [.text(queue.name)]
            ).map { "job \($0.integer(0)) waits for a place of its key" }
            return places + parked
        }
    }

    /// The number of rows that each job has written.
    private func effects() async throws -> [Int64: Int64] {
        let rows = try await queue.store.database.transaction(.relaxed) { session in
            try session.query("SELECT job, COUNT(*) FROM effect GROUP BY job").map {
                ($0.integer(0), $0.integer(1))
            }
        }
        return Dictionary(uniqueKeysWithValues: rows)
    }

    private func twiceCommitted() async throws -> [String] {
        try await queue.store.database.transaction(.relaxed) { session in
            try session.query(
                """
                SELECT j.id, COUNT(c.job) FROM durable_job j LEFT JOIN commits c ON c.job = j.id
                WHERE j.id > ? AND (j.state = 10 OR c.job IS NOT NULL)
                GROUP BY j.id HAVING COUNT(c.job) <> 1
                """, [.integer(first)]
            ).map { "job \($0.integer(0)) was committed \($0.integer(1)) times" }
        }
    }

    /// Every batch has ended, with the right counts, although its writer may have died.
    private func batchFindings(_ confirmed: [ClientLog.Entry]) async throws -> [String] {
        var wrong: [String] = []
        for case .batch(let id) in confirmed {
            let counts = try await queue.batch(id).counts
            let isWritten = confirmed.contains {
                if case .batchEnd(id) = $0 { true } else { false }
            }
            if !counts.isEnded { wrong.append("batch \(id) has not ended") }
            if isWritten, counts.total != NemesisMixture.batchSize {
                wrong.append("batch \(id) has \(counts.total) jobs")
            }
            let stored = try await queue.store.database.transaction(.relaxed) { session in
                try session.query(
                    "SELECT state FROM durable_job WHERE batch = ?", [.integer(id)]
                ).map { $0.state(0) }
            }
            let completed = stored.count { $0 == .completed }
            if stored.count != counts.total || completed != counts.completed {
                wrong.append(
                    "batch \(id) counts \(counts), and has \(stored.count) jobs, of which"
                        + " \(completed) completed")
            }
        }
        return wrong
    }

    /// What the store has confirmed to the client must be there, as the client has read it.
    private func lost(_ confirmed: [ClientLog.Entry], _ rows: [Row]) -> [String] {
        let results = Dictionary(uniqueKeysWithValues: rows.map { ($0.id, $0.result) })
        let failed = Set(rows.filter { $0.state != .completed }.map(\.id))
        return confirmed.flatMap { entry -> [String] in
            switch entry {
            case .enqueued(let ids):
                return ids.filter { results[$0] == nil }.map { "job \($0) is lost" }
            case .value(let id, let word):
                let result = results[id].map { String(decoding: $0, as: UTF8.self) }
                guard result != "\"\(word)\"" else { return [] }
                return ["the client has read another result of job \(id)"]
            case .batch, .batchEnd: return []
            case .failure(let id, let text):
                guard !failed.contains(id) else { return [] }
                return ["the client has read a failure of job \(id): \(text)"]
            }
        }
    }
}
#endif
