#if DurableJobs
/// The tables, and their migrations.
///
/// Times are milliseconds since 1970, except leases on SQLite, which are milliseconds since the
/// start of the machine. Flags are 0 or 1. `rank` is the negative priority, so that all columns of
/// the ready order ascend; aging lowers it below `base_rank`.
package enum JobSchema {
    /// The version that this library makes. It can also use a newer one that says so.
    package static let version = 13

    /// The oldest version of the library's schema whose programs can use these tables. A migration
    /// that only adds indexes, tables, and columns with defaults leaves it as it is.
    ///
    /// Programs of the versions 7 to 9 need the table of attachments. A store that was made since
    /// then has it only if a program has opened the store with DurableJobFiles.
    private static func compatible(from found: Int) -> Int { (2..<10).contains(found) ? 7 : 10 }

    /// The ended jobs that nobody has to look at, and the *dead letters*: discarded jobs, and jobs
    /// that were cancelled because of them, directly or through others. People repair the cause,
    /// and retry all of these. Each condition has an index.
    package static let isSettled = "state >= 10 AND state < 12 AND is_upstream = 0"
    package static let isDeadLetter = "state >= 10 AND (state = 12 OR is_upstream = 1)"

    /// The statements that lead from the version before to each version.
    static let migrations: [[String]] = [
        [
            """
            CREATE TABLE durable_job (
                id {serial},
                queue TEXT NOT NULL, name TEXT NOT NULL, version BIGINT NOT NULL,
                arguments {bytes} NOT NULL,
                state BIGINT NOT NULL, rank BIGINT NOT NULL, base_rank BIGINT NOT NULL,
                position BIGINT NOT NULL,
                run_at BIGINT, deadline BIGINT, timeout BIGINT,
                attempt BIGINT NOT NULL DEFAULT 0, failures BIGINT NOT NULL DEFAULT 0,
                deaths BIGINT NOT NULL DEFAULT 0, retry_limit BIGINT NOT NULL, backoff TEXT,
                pending BIGINT NOT NULL, is_wide BIGINT NOT NULL,
                has_dependents BIGINT NOT NULL DEFAULT 0, unresolved BIGINT NOT NULL DEFAULT 0,
                unique_key TEXT, exclusive_key TEXT, batch BIGINT,
                worker TEXT, cancel_reason TEXT,
                result {bytes}, outputs TEXT, unpublished BIGINT NOT NULL DEFAULT 0,
                error TEXT, is_upstream BIGINT NOT NULL DEFAULT 0, trace TEXT,
                enqueued_at BIGINT NOT NULL, started_at BIGINT, ended_at BIGINT
            )
            """,
            """
            CREATE INDEX durable_job_ready ON durable_job (queue, rank, position, id)
                WHERE state = 2
            """,
            "CREATE INDEX durable_job_due ON durable_job (queue, run_at) WHERE state IN (1, 4)",
            """
            CREATE INDEX durable_job_deadline ON durable_job (deadline)
                WHERE deadline IS NOT NULL AND state < 10 AND state <> 3
            """,
            "CREATE INDEX durable_job_running ON durable_job (worker) WHERE state = 3",
            """
            CREATE UNIQUE INDEX durable_job_unique ON durable_job (queue, unique_key)
                WHERE unique_key IS NOT NULL AND state < 10
            """,
            "CREATE INDEX durable_job_unresolved ON durable_job (id) WHERE unresolved = 1",
            "CREATE INDEX durable_job_unpublished ON durable_job (ended_at) WHERE unpublished = 1",
            """
            CREATE INDEX durable_job_wide ON durable_job (id) WHERE state = 0 AND is_wide = 1
            """,
            "CREATE INDEX durable_job_ended ON durable_job (ended_at) WHERE state >= 10",
            """
            CREATE TABLE durable_job_edge (
                dependency BIGINT NOT NULL, dependent BIGINT NOT NULL, condition BIGINT NOT NULL,
                is_wide BIGINT NOT NULL, resolved BIGINT NOT NULL,
                PRIMARY KEY (dependent, dependency)
            )
            """,
            """
            CREATE INDEX durable_job_edge_open ON durable_job_edge (dependency)
                WHERE resolved = 0
            """,
            """
            CREATE TABLE durable_job_lock (
                queue TEXT NOT NULL, key TEXT NOT NULL, job BIGINT NOT NULL,
                PRIMARY KEY (queue, key)
            )
            """,
            "CREATE INDEX durable_job_lock_job ON durable_job_lock (job)",
            """
            CREATE TABLE durable_job_worker (
                id TEXT PRIMARY KEY, queue TEXT NOT NULL, host TEXT NOT NULL,
                process BIGINT NOT NULL, started_at BIGINT NOT NULL,
                lease_until BIGINT NOT NULL, boot TEXT NOT NULL
            )
            """,
            """
            CREATE TABLE durable_job_performed (
                worker TEXT NOT NULL, name TEXT NOT NULL, version BIGINT NOT NULL,
                PRIMARY KEY (worker, name)
            )
            """,
            """
            CREATE TABLE durable_job_head (
                queue TEXT NOT NULL, rank BIGINT NOT NULL, position BIGINT NOT NULL,
                PRIMARY KEY (queue, rank)
            )
            """,
            """
            CREATE TABLE durable_job_batch (
                id {serial}, queue TEXT NOT NULL, name TEXT NOT NULL, total BIGINT NOT NULL,
                is_complete BIGINT NOT NULL, created_at BIGINT NOT NULL
            )
            """,
            """
            CREATE TABLE durable_job_count (
                batch BIGINT NOT NULL, worker TEXT NOT NULL, completed BIGINT NOT NULL,
                cancelled BIGINT NOT NULL, discarded BIGINT NOT NULL,
                PRIMARY KEY (batch, worker)
            )
            """,
            """
            CREATE TABLE durable_job_archive (
                id BIGINT PRIMARY KEY, queue TEXT NOT NULL, name TEXT NOT NULL,
                state BIGINT NOT NULL, attempt BIGINT NOT NULL, worker TEXT,
                result {bytes}, error TEXT, is_upstream BIGINT NOT NULL,
                enqueued_at BIGINT NOT NULL, ended_at BIGINT
            )
            """,
        ],
        // A table of attachments, which DurableJobFiles makes now.
        [],
        [
            // The background steps of a queue's workers concern that queue.
            "DROP INDEX durable_job_deadline",
            """
            CREATE INDEX durable_job_deadline ON durable_job (queue, deadline)
                WHERE deadline IS NOT NULL AND state < 10 AND state <> 3
            """,
            "DROP INDEX durable_job_unpublished",
            """
            CREATE INDEX durable_job_unpublished ON durable_job (queue, ended_at)
                WHERE unpublished = 1
            """,
            "DROP INDEX durable_job_ended",
            "CREATE INDEX durable_job_ended ON durable_job (queue, ended_at) WHERE state >= 10",
            "CREATE INDEX durable_job_archive_ended ON durable_job_archive (queue, ended_at)",
        ],
        [
            "ALTER TABLE durable_job ADD COLUMN unchecked BIGINT NOT NULL DEFAULT 0",
            "CREATE INDEX durable_job_unchecked ON durable_job (queue, id) WHERE unchecked = 1",
        ],
        [
            "ALTER TABLE durable_job_worker ADD COLUMN is_stopping BIGINT NOT NULL DEFAULT 0",
            """
            CREATE INDEX durable_job_suspect ON durable_job (queue, rank, position, id)
                WHERE state = 2 AND deaths > 0
            """,
        ],
        [
            "ALTER TABLE durable_job_schema ADD COLUMN compatible BIGINT NOT NULL DEFAULT 1",
            "ALTER TABLE durable_job_archive ADD COLUMN unique_key TEXT",
            """
            CREATE INDEX durable_job_archive_key ON durable_job_archive
                (queue, unique_key, ended_at) WHERE unique_key IS NOT NULL
            """,
            """
            CREATE INDEX durable_job_ended_key ON durable_job (queue, unique_key, ended_at)
                WHERE unique_key IS NOT NULL AND state >= 10
            """,
            "ALTER TABLE durable_job_batch ADD COLUMN writer_until BIGINT",
            "CREATE INDEX durable_job_batch_age ON durable_job_batch (queue, created_at)",
        ],
        [
            "ALTER TABLE durable_job ADD COLUMN parked BIGINT NOT NULL DEFAULT 0",
            // What a claim may take, by the type of job.
            """
            CREATE INDEX durable_job_claimable ON durable_job (queue, name, rank, position, id)
                WHERE state = 2 AND parked = 0
            """,
            """
            CREATE INDEX durable_job_exclusive ON durable_job
                (queue, exclusive_key, rank, position, id)
                WHERE state = 2 AND exclusive_key IS NOT NULL
            """,
        ],
        [
            // Programs of the version before neither write nor read the numbers of claims.
            "ALTER TABLE durable_job ADD COLUMN claim BIGINT NOT NULL DEFAULT 0",
            "ALTER TABLE durable_job_archive ADD COLUMN claim BIGINT NOT NULL DEFAULT 0",
        ],
        [
            // For counts and lists. A claim does not write it, because running jobs are few, and
            // are found by their workers.
            """
            CREATE INDEX durable_job_listed ON durable_job (queue, state, name, id)
                WHERE state <> 3
            """,
            // Jobs that stay longer are not in the way of those that leave.
            """
            CREATE INDEX durable_job_dead_letter ON durable_job (queue, ended_at)
                WHERE state >= 10 AND (state = 12 OR is_upstream = 1)
            """,
            "DROP INDEX durable_job_ended",
            """
            CREATE INDEX durable_job_ended ON durable_job (queue, ended_at)
                WHERE state >= 10 AND state < 12 AND is_upstream = 0
            """,
            "DROP INDEX durable_job_ready",
        ],
        [
            """
            CREATE TABLE durable_job_extension (name TEXT PRIMARY KEY, version BIGINT NOT NULL)
            """,
            noteFiles(if: "SELECT 1 FROM durable_job WHERE outputs IS NOT NULL"),
            "ALTER TABLE durable_job ADD COLUMN dead_workers TEXT",
            "ALTER TABLE durable_job_worker ADD COLUMN ended_at BIGINT",
        ],
        [
            // Programs of the version before neither complete jobs in this way nor see the mark.
            "ALTER TABLE durable_job ADD COLUMN uncounted BIGINT NOT NULL DEFAULT 0",
            "CREATE INDEX durable_job_uncounted ON durable_job (queue, id) WHERE uncounted = 1",
        ],
        [
            // Programs of the version before do not obey pauses, and say so: they leave the column
            // of their workers empty. They take one job with a key at a time, as if it were
            // exclusive, and give places to groups as to other jobs.
            "ALTER TABLE durable_job_worker ADD COLUMN pauses BIGINT",
            """
            CREATE TABLE durable_job_pause (
                queue TEXT NOT NULL, name TEXT NOT NULL, revision BIGINT NOT NULL,
                reason TEXT, paused_at BIGINT, PRIMARY KEY (queue, name)
            )
            """,
            // The number of places of the key; NULL is one.
            "ALTER TABLE durable_job ADD COLUMN slots BIGINT",
            // The first place of a key has the key itself, and the others have the key with their
            // numbers, so that places are unique for programs of the version before, too.
            "ALTER TABLE durable_job_lock ADD COLUMN slot BIGINT NOT NULL DEFAULT 0",
            "ALTER TABLE durable_job_lock ADD COLUMN base TEXT",
            """
            CREATE INDEX durable_job_lock_base ON durable_job_lock (queue, base)
                WHERE base IS NOT NULL
            """,
            """
            CREATE TABLE durable_job_group (
                queue TEXT NOT NULL, name TEXT NOT NULL, rank BIGINT NOT NULL,
                position BIGINT NOT NULL, PRIMARY KEY (queue, name, rank)
            )
            """,
        ],
        schedules,
    ]

    /// Notes that the programs of earlier versions, which always had files, have used them.
    private static func noteFiles(if query: String) -> String {
        """
        INSERT INTO durable_job_extension (name, version)
        SELECT 'files', 1 WHERE EXISTS (\(query)) ON CONFLICT (name) DO NOTHING
        """
    }

    /// The statements that lead from an existing version to each later one.
    private static func migrations(after found: Int) -> [String] {
        let hasAttachments = (2..<10).contains(found)
        return migrations[found...].joined()
            + (hasAttachments ? [noteFiles(if: "SELECT 1 FROM durable_job_attachment")] : [])
    }

    /// Looks at the tables, and creates or migrates them in this transaction if that is necessary:
    /// programs with other rights need not be allowed to. The caller excludes other processes.
    package static func migrate(_ session: any SQLSession, store: String) throws {
        let found = try usableVersion(session, store: store)
        for statement in statements(from: found) { _ = try session.query(statement) }
    }

    /// The version of the tables; 0 if there are none.
    ///
    /// - Throws: ``JobError/newerSchema(store:found:supported:)`` if they are of a newer version
    ///   that this one cannot use.
    package static func usableVersion(_ session: any SQLSession, store: String) throws -> Int {
        let found = try version(session)
        guard found > version else { return found }
        let compatible = try session.query("SELECT compatible FROM durable_job_schema")
        guard let row = compatible.first, row.integer(0) <= Int64(version) else {
            throw JobError.newerSchema(store: store, found: found, supported: version)
        }
        return found
    }

    /// The version of the tables; 0 if there are none.
    package static func version(_ session: any SQLSession) throws -> Int {
        guard try session.query("SELECT {has_tables}").first?.flag(0) == true else { return 0 }
        let rows = try session.query("SELECT version FROM durable_job_schema")
        return Int(rows.first?.integer(0) ?? 0)
    }

    /// The statements that lead from a version to the present one; none if it is that.
    package static func statements(from found: Int) -> [String] {
        guard found < version else { return [] }
        var result: [String] = []
        if found == 0 { result.append("CREATE TABLE durable_job_schema (version BIGINT NOT NULL)") }
        return result + migrations(after: found) + record(from: found)
    }

    /// The statements that write the version of the tables.
    package static func record(from found: Int) -> [String] {
        let compatible = compatible(from: found)
        return [
            "DELETE FROM durable_job_schema",
            """
            INSERT INTO durable_job_schema (version, compatible) VALUES (\(version), \(compatible))
            """,
        ]
    }

    /// Makes the tables of the program's extension in this transaction, unless the store has them.
    /// The caller excludes other processes.
    ///
    /// - Throws: ``JobError/unusableStore(store:reason:)`` if the store has had an extension that
    ///   the program does not have. It would not do what is left of that extension's ends, and its
    ///   own jobs would not join those that the extension keeps.
    package static func prepare(
        _ extension: ExtensionSchema?, _ session: any SQLSession, store: String
    ) throws {
        var found = 0
        for row in try session.query("SELECT name, version FROM durable_job_extension") {
            let name = row.text(0) ?? ""
            guard name == `extension`?.name else {
                throw JobError.unusableStore(
                    store: store,
                    reason: "its jobs may have \(name), and this program opens it without: with "
                        + "the module DurableJobFiles, write `.withFiles()` after the place of the "
                        + "store")
            }
            found = Int(row.integer(1))
        }
        guard let `extension`, found != `extension`.version else { return }
        guard found < `extension`.version else {
            throw JobError.newerSchema(
                store: store, found: found, supported: `extension`.version)
        }
        for statement in `extension`.migration { _ = try session.query(statement) }
    }

    /// An index that a migration drops, or makes.
    package struct IndexChange: Sendable {
        package let name: String
        /// What follows the name in the statement; nil if the index is dropped.
        package let definition: String?

        /// Returns nil for a statement about something else.
        fileprivate init?(_ statement: String) {
            let words = statement.split(maxSplits: 3, whereSeparator: \.isWhitespace)
            guard words.count >= 3, words[1] == "INDEX" else { return nil }
            name = String(words[2])
            definition = words[0] == "CREATE" ? String(words[3]) : nil
        }
    }

    /// The statements that lead from an existing version to the present one, for a database that
    /// makes indexes outside of transactions. Each may be executed again.
    package static func changes(from found: Int) -> (tables: [String], indexes: [IndexChange]) {
        guard found < version else { return ([], []) }
        let all = migrations(after: max(1, found))
        let tables = all.filter { IndexChange($0) == nil }.map {
            $0.replacing("CREATE TABLE ", with: "CREATE TABLE IF NOT EXISTS ")
                .replacing("ADD COLUMN ", with: "ADD COLUMN IF NOT EXISTS ")
        }
        return (tables, all.compactMap { IndexChange($0) })
    }
}
#endif
