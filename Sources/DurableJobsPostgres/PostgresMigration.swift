#if DurableJobsPostgres
import CDurableJobsLibPQ
import DurableJobs
import Operations

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Migrates tables that exist, while other programs read and write them.
///
/// 1. A transaction that stays open has an advisory lock, so one process at a time migrates. The
///    others ask every 200 ms for the lock: a statement that waited for it would have a snapshot,
///    and step 3 waits for all older snapshots. The transaction itself has none while it is idle.
/// 2. One transaction changes tables. It waits for their locks for a second at most, because
///    statements of others wait behind it, and is tried again.
/// 3. Indexes are dropped and made concurrently, outside of a transaction. An invalid index that an
///    interrupted attempt has left is dropped, and made again.
/// 4. One transaction writes the version. A process that is killed before leaves the old version,
///    and the next one repeats the steps, each of which does nothing if it is done.
struct PostgresMigration {
    /// Excludes programs that make tables, also those of older versions of the library.
    static let tableLock = "SELECT pg_advisory_xact_lock(7236837458)"
    private static let lock = 7_236_837_459

    let target: PostgresTarget
    /// The schema of the tables.
    let schema: String?
    private let translations: TranslationCache

    init(_ target: PostgresTarget, schema: String?) {
        (self.target, self.schema) = (target, schema)
        translations = TranslationCache(PostgresSession.dialect(schema: schema))
    }

    func run() async throws {
        // The end of a link closes its connection, and so ends its transaction.
        let lock = PostgresLink(target, label: "migration lock")
        let link = PostgresLink(target, label: "migration")
        while try await lock.perform(Self.takesLock) == false {
            try await Task.sleep(for: .milliseconds(200))
        }
        let found = try await version(link)
        if found < JobSchema.version {
            let changes = JobSchema.changes(from: found)
            try await changeTables(changes.tables + PostgresFunctions.statements, link)
            try await change(changes.indexes, link)
            try await link.transaction(PostgresBeginning(), translations) { session in
                for statement in JobSchema.record(from: found) { _ = try session.query(statement) }
            }
        }
        await link.close()
        await lock.close()
    }

    private static func takesLock(_ connection: OpaquePointer) throws -> Bool {
        let session = PostgresSession(connection)
        try session.execute("BEGIN ISOLATION LEVEL READ COMMITTED")
        let row = try session.query("SELECT pg_try_advisory_xact_lock(\(lock))", []).first
        // A query that was sent with arguments keeps its snapshot until the next statement.
        let isLocked = row?.flag(0) == true
        try session.execute(
            isLocked ? "SET LOCAL idle_in_transaction_session_timeout = 0" : "ROLLBACK")
        return isLocked
    }

    private func version(_ link: PostgresLink) async throws -> Int {
        try await link.transaction(PostgresBeginning(), translations) { session in
            let rows = try session.query("SELECT version FROM durable_job_schema")
            return Int(rows.first?.integer(0) ?? 0)
        }
    }

    private func changeTables(_ statements: [String], _ link: PostgresLink) async throws {
        guard !statements.isEmpty else { return }
        let beginning = PostgresBeginning(
            settings: "SELECT set_config('lock_timeout', '1s', true)")
        var attempts = 60
        while true {
            do {
                return try await link.transaction(beginning, translations) { session in
                    _ = try session.query(Self.tableLock)
                    for statement in statements { _ = try session.query(statement) }
                }
            } catch let error as PostgresFailure where error.code == "55P03" && attempts > 1 {
                attempts -= 1
                try await Task.sleep(for: .seconds(1))
            }
        }
    }

    private func change(_ indexes: [JobSchema.IndexChange], _ link: PostgresLink) async throws {
        guard !indexes.isEmpty else { return }
        try await link.perform { [self] connection in
            let session = PostgresSession(connection, translations)
            // A large index takes longer than the role's statements may.
            for name in ["statement_timeout", "lock_timeout"] {
                try session.execute("SET \(name) = 0")
            }
            for index in indexes { try change(index, session) }
            // A pooler may give the connection to others.
            for name in ["statement_timeout", "lock_timeout"] {
                try session.execute("RESET \(name)")
            }
        }
    }

    private func change(_ index: JobSchema.IndexChange, _ session: PostgresSession) throws {
        var attempts = 10
        while true {
            do {
                for statement in try statements(index, session) { try session.execute(statement) }
                return
            } catch let error as PostgresFailure where error.isTransient && attempts > 1 {
                // A deadlock with a statement of the program. The index may be invalid now.
                attempts -= 1
            }
        }
    }

    private func statements(
        _ index: JobSchema.IndexChange, _ session: PostgresSession
    ) throws -> [String] {
        let drop = translations["DROP INDEX CONCURRENTLY IF EXISTS \(index.name)"]
        guard let definition = index.definition else { return [drop] }
        let isValid = try session.query(
            "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(CAST(? AS TEXT))",
            [.text(translations[index.name])]
        ).first?.flag(0)
        if isValid == true { return [] }
        // An index is made in the schema of its table, and its name is written without one.
        let make = "CREATE INDEX CONCURRENTLY \(index.name) \(translations[definition])"
        return isValid == nil ? [make] : [drop, make]
    }

    /// The statements of the steps, without the locks, for another tool.
    ///
    /// - Parameter extension: its tables are made, too.
    static func text(from version: Int, extension: ExtensionSchema? = nil) -> String {
        let dialect = PostgresSession.dialect(schema: nil)
        func text(_ statements: [String]) -> String {
            statements.map { "\(dialect.translate($0));\n" }.joined()
        }
        func transaction(_ statements: [String]) -> String {
            statements.isEmpty ? "" : "BEGIN;\n\(text(statements))COMMIT;\n"
        }
        let added = `extension`?.migration ?? []
        let functions = PostgresFunctions.statements
        guard version > 0 else {
            return transaction(JobSchema.statements(from: 0) + functions + added)
        }
        guard version < JobSchema.version else { return transaction(added) }
        let changes = JobSchema.changes(from: version)
        let indexes = changes.indexes.flatMap { index in
            ["DROP INDEX CONCURRENTLY IF EXISTS \(index.name)"]
                + (index.definition.map { ["CREATE INDEX CONCURRENTLY \(index.name) \($0)"] } ?? [])
        }
        return transaction(changes.tables + functions) + text(indexes)
            + transaction(JobSchema.record(from: version) + added)
    }
}
#endif
