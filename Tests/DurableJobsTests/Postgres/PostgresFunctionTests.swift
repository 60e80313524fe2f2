#if DurableJobsPostgres
import CDurableJobsLibPQ
import DurableJobs
import Operations
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import DurableJobsPostgres

/// Jobs that are stored by the function of the database, as clients in any language do.
@Suite(.timeLimit(.minutes(5)))
struct PostgresFunctionTests {
    private func withSession(
        schema: String? = nil,
        _ body: (JobQueue, PostgresSession) async throws -> Void
    ) async throws {
        try await withDatabase { url in
            let queue = try await JobQueue("mail", in: .postgres(url, schema: schema))
            try await closing(queue) { queue async throws in
                let connection = try PostgresTarget(url).connect()
                defer { PQfinish(connection) }
                try await body(queue, PostgresSession(connection))
            }
        }
    }

    private func enqueue(
        _ arguments: String, _ session: PostgresSession, schema: String = ""
    ) throws -> JobID {
        let rows = try session.query("SELECT \(schema)durable_job_enqueue(\(arguments))", [])
        return JobID(try #require(rows.first).integer(0))
    }

    private static let echo = "'mail', 'echo', '{\"text\": \"a \\\"b\\\" / ü\"}'"

    @Test(arguments: [nil, "jobs of mine"])
    func aWorkerRunsWhatTheFunctionHasStored(schema: String?) async throws {
        try await withSession(schema: schema) { queue, session async throws in
            try await withWorker(queue, [Echo.self]) { _ async throws in
                let prefix = schema.map { "\"\($0)\"." } ?? ""
                let id = try enqueue(Self.echo, session, schema: prefix)
                let text = try await queue.handle(of: Echo.self, id: id).value
                #expect(text == "a \"b\" / ü")
            }
        }
    }

    @Test func theJobIsStoredWithTheTransaction() async throws {
        try await withSession { queue, session async throws in
            try session.execute("BEGIN")
            _ = try enqueue(Self.echo, session)
            try session.execute("ROLLBACK")
            #expect(try await queue.counts().isEmpty)
            // The usual way for programs that only write rows.
            try session.execute(
                """
                CREATE TABLE sale (item TEXT);
                CREATE FUNCTION receipt() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    PERFORM durable_job_enqueue('mail', 'echo', jsonb_build_object('text', NEW.item));
                    RETURN NULL;
                END $$;
                CREATE TRIGGER receipt AFTER INSERT ON sale
                    FOR EACH ROW EXECUTE FUNCTION receipt();
                INSERT INTO sale VALUES ('tea'), ('milk');
                """)
            #expect(try await queue.unfinished(Echo.self).map(\.text).sorted() == ["milk", "tea"])
        }
    }

    @Test func placesAndGroupsAreThoseOfTheTraits() async throws {
        try await withSession { queue, session async throws in
            try await queue.enqueue(Echo(text: ""), .limited(to: 3, by: "a"), .group("g"))
            _ = try enqueue(
                Self.echo + ", exclusive_key => 'a', exclusive_places => 3, group_key => 'g'",
                session)
            let rows = try session.query(
                "SELECT exclusive_key, slots, position FROM durable_job ORDER BY id", [])
            #expect(rows[0].values.prefix(2) == rows[1].values.prefix(2))
            #expect(rows.map { $0.integer(2) } == [1, 2])
            #expect(try await queue.rowCount("durable_job_group") == 1)
        }
    }

    @Test func theSettingsAreThoseOfTheTraits() async throws {
        try await withSession { queue, session async throws in
            let id = try enqueue(
                """
                \(Self.echo), retries => 3, priority => 4, run_at => now() + interval '1 hour',
                deadline => now() + interval '2 hours', exclusive_key => 'a'
                """, session)
            let swift = try await queue.enqueue(
                Echo(text: ""), .retry(3), .priority(.high), .delay(.seconds(3_600)),
                .deadline(in: .seconds(7_200)), .exclusive(by: "a"))
            let rows = try session.query(
                """
                SELECT state, rank, base_rank, position, retry_limit, version, pending, is_wide,
                    COALESCE(backoff, ''), exclusive_key, run_at / 60000,
                    deadline / 60000
                FROM durable_job WHERE id IN ($1, $2)
                """, [.integer(id.rawValue), .integer(swift.id.rawValue)])
            #expect(rows.count == 2)
            #expect(rows[0].values.dropLast(2) == rows[1].values.dropLast(2))
            // Both were stored in the same minute, or in two that follow.
            for column in [10, 11] {
                #expect(abs(rows[0].integer(column) - rows[1].integer(column)) <= 1)
            }
            #expect(try await queue.info(id)?.state == .scheduled)
        }
    }

    /// The digest of a key is that of Swift's JSON.
    @Test(arguments: [
        "tenant 7", "a/b\\c", "ü 💡 \u{2028}", "line\nbreak\ttab", "\u{1}\u{1F}\u{7F}", "\"'<>&",
    ])
    func jobsOfOneKeyAreOneJob(key: String) async throws {
        try await withSession { queue, session async throws in
            let first = try await queue.enqueue(Echo(text: ""), .unique(by: key))
            let rows = try session.query(
                "SELECT durable_job_enqueue('mail', 'echo', '{\"text\": \"\"}', unique_key => $1)",
                [.text(key)])
            #expect(try #require(rows.first).integer(0) == first.id.rawValue)
            let other = try enqueue(Self.echo + ", unique_key => 'another'", session)
            #expect(other != first.id)
            #expect(try await queue.counts() == [.available: 2])
        }
    }

    @Test(arguments: [
        ("'', 'echo', '{}'", "names of 1 to 200 bytes"),
        ("'mail', NULL, '{}'", "names of 1 to 200 bytes"),
        ("'mail', repeat('n', 201), '{}'", "names of 1 to 200 bytes"),
        ("'mail', 'echo', '[1]'", "no JSON object"),
        ("'mail', 'echo', NULL", "no JSON object"),
        (
            "'mail', 'echo', jsonb_build_object('text', repeat('x', 1048576))",
            "1048588 bytes; at most 1048576"
        ),
        ("'mail', 'echo', '{}', retries => -1", "0 or more retries"),
        ("'mail', 'echo', '{}', version => 0", "a version of 1 or more"),
        ("'mail', 'echo', '{}', priority => 5", "use -8, -4, 0, 4 or 8"),
        (
            "'mail', 'echo', '{}', exclusive_key => 'a', exclusive_places => 0", "use 1 to 10000"
        ),
    ])
    func nonsenseIsRefusedByName(arguments: String, message: String) async throws {
        try await withSession { queue, session async throws in
            let error = #expect(throws: PostgresFailure.self) {
                try enqueue(arguments, session)
            }
            #expect(error?.description.contains(message) == true)
            #expect(error?.code == "22023")
            #expect(try await queue.counts().isEmpty)
        }
    }

    /// A store of the version before gets the function together with its columns.
    @Test func theMigrationMakesTheFunction() async throws {
        try await withDatabase { url in
            await (try JobQueue("mail", in: .postgres(url))).close()
            let connection = try PostgresTarget(url).connect()
            defer { PQfinish(connection) }
            let session = PostgresSession(connection)
            try session.execute(
                """
                DROP FUNCTION durable_job_enqueue;
                CREATE FUNCTION durable_job_enqueue(TEXT, TEXT, JSONB, BIGINT DEFAULT 1,
                    TIMESTAMPTZ DEFAULT NULL, TIMESTAMPTZ DEFAULT NULL, BIGINT DEFAULT 0,
                    BIGINT DEFAULT 0, TEXT DEFAULT NULL, TEXT DEFAULT NULL)
                RETURNS BIGINT LANGUAGE sql AS 'SELECT 0::BIGINT';
                ALTER TABLE durable_job DROP COLUMN uncounted;
                UPDATE durable_job_schema SET version = 10;
                """)
            let queue = try await JobQueue("mail", in: .postgres(url))
            try await closing(queue) { queue async throws in
                let id = try enqueue(Self.echo, session)
                #expect(try await queue.info(id)?.state == .available)
            }
            // Another tool makes all of it by the printed statements.
            #expect(JobStorage.postgresMigration().contains("FUNCTION durable_job_enqueue("))
            #expect(JobStorage.postgresMigration(from: 10).contains("durable_job_enqueue("))
        }
    }
}
#endif
