#if DurableJobsPostgres
import CDurableJobsLibPQ
import Operations
import Testing

@testable import DurableJobFiles
@testable import DurableJobs
@testable import DurableJobsPostgres

/// Migrations of tables that are in use.
@Suite(.timeLimit(.minutes(5)))
struct PostgresMigrationTests {
    /// Makes tables of version 8, and calls a function with the URL and a connection.
    private func withOldTables(
        schema: String? = nil,
        _ body: (_ url: String, _ connection: OpaquePointer) async throws -> Void
    ) async throws {
        try await withDatabase { url in
            nonisolated(unsafe) let connection = try PostgresTarget(url).connect()
            defer { PQfinish(connection) }
            let session = PostgresSession(connection)
            if let schema {
                let name = PostgresSession.quoted(schema)
                try session.execute("CREATE SCHEMA \(name)")
                try session.execute("SET search_path TO \(name)")
            }
            _ = try session.query("CREATE TABLE durable_job_schema (version BIGINT NOT NULL)")
            let files = JobFiles(attachmentLimit: 1).schema.statements
            for statement in JobSchema.migrations[..<8].joined() + files {
                _ = try session.query(statement)
            }
            _ = try session.query("INSERT INTO durable_job_schema VALUES (8, 7)")
            try await body(url, connection)
        }
    }

    private static let job = """
        INSERT INTO durable_job (queue, name, version, arguments, state, rank, base_rank, position,
            retry_limit, pending, is_wide, enqueued_at)
        VALUES ('tests', 'echo', 1, '{"text":""}', 2, 0, 0, 1, 0, 0, 0, 0)
        """

    /// The names of the valid indexes.
    private func indexes(_ connection: OpaquePointer) throws -> [String] {
        try PostgresSession(connection).query(
            """
            SELECT relname::TEXT FROM pg_index JOIN pg_class c ON c.oid = indexrelid
            WHERE indisvalid AND relname LIKE 'durable_job_%' ORDER BY 1
            """, []
        ).compactMap { $0.text(0) }
    }

    private func expectMigrated(
        _ url: String, _ connection: OpaquePointer, schema: String? = nil
    ) async throws {
        #expect(
            try await JobStorage.postgres(url, schema: schema).schemaVersion()
                == JobSchema.version)
        let found = try indexes(connection)
        #expect(found.contains("durable_job_listed") && !found.contains("durable_job_ready"))
    }

    /// A migration waits for the transactions that have begun before, and others write meanwhile.
    @Test func programsWriteWhileAnIndexIsMade() async throws {
        try await withOldTables { url, connection in
            let session = PostgresSession(connection)
            _ = try session.query(Self.job)
            // The snapshot of this transaction holds up the index, and no change of a table.
            try session.execute("BEGIN ISOLATION LEVEL REPEATABLE READ")
            _ = try session.query("SELECT 1")
            let migration = Task { try await JobStorage.postgres(url).migrate() }
            let writer = try PostgresTarget(url).connect()
            defer { PQfinish(writer) }
            let other = PostgresSession(writer)
            while try other.query(
                """
                SELECT 1 FROM pg_stat_activity WHERE datname = current_database()
                    AND wait_event_type = 'Lock' AND query LIKE 'CREATE INDEX%'
                """, []
            ).isEmpty {
                try Task.checkCancellation()
                await Task.yield()
            }
            try other.execute("SET lock_timeout = '5s'")
            for _ in 0..<3 { _ = try other.query(Self.job) }
            try session.execute("COMMIT")
            try await migration.value
            try await expectMigrated(url, connection)
            let queue = try await JobQueue("tests", in: .postgres(url))
            #expect(try await queue.counts() == [.available: 4])
            await queue.close()
        }
    }

    @Test func indexThatAnInterruptedMigrationLeftIsMadeAgain() async throws {
        try await withOldTables { url, connection in
            let session = PostgresSession(connection)
            _ = try session.query(Self.job)
            _ = try session.query("CREATE INDEX durable_job_listed ON durable_job (queue)")
            _ = try session.query(
                """
                UPDATE pg_index SET indisvalid = false
                WHERE indexrelid = to_regclass('durable_job_listed')
                """)
            try await JobStorage.postgres(url).migrate()
            try await expectMigrated(url, connection)
            let definition = try session.query(
                "SELECT pg_get_indexdef(to_regclass('durable_job_listed'))"
            ).first?.text(0)
            #expect(definition?.contains("(queue, state, name, id)") == true)
        }
    }

    /// The steps before the version are done, and the tables are in a schema of their own.
    @Test func migrationThatWasInterruptedBeforeItsEndGoesOn() async throws {
        try await withOldTables(schema: "work places") { url, connection in
            let session = PostgresSession(connection)
            let changes = JobSchema.changes(from: 5)
            let dialect = PostgresSession.dialect(schema: nil)
            // All changes since an earlier version are done, too.
            for statement in changes.tables { try session.execute(dialect.translate(statement)) }
            try session.execute("UPDATE durable_job_schema SET version = 5")
            try await JobStorage.postgres(url, schema: "work places").migrate()
            try await expectMigrated(url, connection, schema: "work places")
        }
    }

    @Test func manyProgramsMigrateAtOnce() async throws {
        try await withOldTables { url, connection in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask { await (try JobQueue(in: .postgres(url))).close() }
                }
                try await group.waitForAll()
            }
            try await expectMigrated(url, connection)
        }
    }

    /// psql executes each statement by itself, as a tool must.
    @Test func theTextOfAMigrationMigrates() async throws {
        try await withOldTables { url, connection in
            let session = PostgresSession(connection)
            let text = JobStorage.postgresMigration(from: 8)
            for _ in 0..<2 {
                for statement in statements(of: text) { try session.execute(statement) }
            }
            try await expectMigrated(url, connection)
        }
    }
}
#endif
