#if DurableJobsPostgres
import CDurableJobsLibPQ
import Dispatch
import OperationsRuntime
import DurableJobFiles
import DurableJobs
import Operations
import OperationsTestSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

@testable import DurableJobsPostgres

/// What concerns PostgreSQL only.
@Suite(.timeLimit(.minutes(5)))
struct PostgresStoreTests {
    private func refusal(_ url: String) async -> String {
        do {
            _ = try await JobQueue(in: .postgres(url))
            return "it was not refused"
        } catch {
            return "\(error)"
        }
    }

    @Test func urlsThatNameNothingAreRefused() async throws {
        #expect(await refusal("postgres://host/").contains("it names no database"))
        #expect(await refusal("postgres://").contains("it names no database"))
        let text = await refusal("postgres://user:secret@host:port:x/%zz")
        #expect(text.contains("it has the form postgres://"))
        #expect(!text.contains("secret"))
    }

    @Test func missingThingsAreNamedWithTheirCommands() async throws {
        #expect(
            await refusal("postgres:///photos?host=/no/such/folder").contains(
                "sudo apt install postgresql"))
        let role = try PostgresCluster.url("postgres").replacing("tests@", with: "nobody_here@")
        #expect(await refusal(role).contains("sudo -u postgres createuser"))
        let database = await refusal(try PostgresCluster.url("no_such_database"))
        let command = "\n    sudo -u postgres createdb -O \"$USER\" no_such_database\n"
        #expect(database.hasSuffix(command + "Then try again"))
    }

    /// The error of a call becomes that of a job, and a warning of each try to connect again.
    @Test func connectionsThatAreLostLaterGetNoCommands() async throws {
        try await withDatabase { url in
            let queue = try await JobQueue(in: .postgres(url))
            let name = try await queue.store.database.transaction(.reading) {
                try $0.query("SELECT current_database()::TEXT").first?.text(0) ?? ""
            }
            let administration = PostgresLink(
                try PostgresTarget(PostgresCluster.url("postgres")), label: "administration")
            for statement in [
                "ALTER DATABASE \(name) ALLOW_CONNECTIONS false",
                """
                SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '\(name)'
                """,
            ] {
                try await administration.perform { _ = try PostgresSession($0).query(statement) }
            }
            await administration.close()
            let error = await #expect(throws: JobError.self) { try await queue.counts() }
            let text = try #require(error?.description)
            #expect(text.contains("not currently accepting connections"))
            #expect(!text.contains("sudo") && !text.contains("\n"))
            // A program that starts now gets them.
            #expect(await refusal(url).contains("sudo -u postgres createdb"))
            await queue.close()
        }
    }

    /// Messages of libpq that need another kind of server.
    @Test(arguments: [
        ("server does not support SSL, but SSL was required", "sslmode"),
        ("FATAL: password authentication failed for user \"u\"", "~/.pgpass"),
        ("FATAL:  Peer authentication failed for user \"u\"", "left out"),
        ("connection to server at \"h\" failed: Connection refused", "postgresql start\nThen"),
    ])
    func messagesOfTheServerNameARemedy(_ message: String, _ remedy: String) throws {
        let target = try PostgresTarget("postgres://u:pa55word@h/photos")
        let text = target.advise(on: "\(message) (pa55word)\n")
        #expect(text.contains(message) && text.contains(remedy))
        #expect(!text.contains("pa55word"))
    }

    @Test func serverThatOnlyReadsIsRefused() async throws {
        try await withDatabase { url in
            let link = PostgresLink(try PostgresTarget(url), label: "test")
            try await link.perform {
                try PostgresSession($0).execute(
                    """
                    DO $$ BEGIN EXECUTE 'ALTER DATABASE ' || current_database()
                        || ' SET default_transaction_read_only = on'; END $$
                    """)
            }
            await link.close()
            #expect(await refusal(url).contains("name the primary"))
        }
    }

    @Test func passwordsAreInNoMessage() async throws {
        let url = try PostgresCluster.url("no_such").replacing("tests@", with: "tests:pa55word@")
        #expect(!(await refusal(url)).contains("pa55word"))
        #expect(!JobStorage.postgres(url).description.contains("pa55word"))
    }

    @Test func newerSchemaIsRefused() async throws {
        try await withDatabase { url in
            await (try JobQueue(in: .postgres(url))).close()
            let link = PostgresLink(try PostgresTarget(url), label: "test")
            try await link.perform {
                try PostgresSession($0).execute(
                    "UPDATE durable_job_schema SET version = 99, compatible = 99")
            }
            await link.close()
            #expect(await refusal(url).contains("the schema 99"))
        }
    }

    @Test func tablesOfAnotherRoleAreNamed() async throws {
        try await withDatabase { url in
            await (try JobQueue(in: .postgres(url))).close()
            let role = "r\(UUID().uuidString.prefix(8).lowercased())"
            let link = PostgresLink(try PostgresTarget(url), label: "test")
            try await link.perform {
                try PostgresSession($0).execute("CREATE ROLE \(role) LOGIN")
            }
            let text = await refusal(url.replacing("tests@", with: "\(role)@"))
            #expect(text.contains("belong to another role"))
            try await link.perform { try PostgresSession($0).execute("DROP ROLE \(role)") }
            await link.close()
        }
    }

    /// Calls a function with the URL of another role, which has been granted nothing.
    private func withRole(
        _ url: String, _ body: (String, _ role: String, PostgresLink) async throws -> Void
    ) async throws {
        let role = "r\(UUID().uuidString.prefix(8).lowercased())"
        let link = PostgresLink(try PostgresTarget(url), label: "owner")
        try await link.perform { try PostgresSession($0).execute("CREATE ROLE \(role) LOGIN") }
        try await body(url.replacing("tests@", with: "\(role)@"), role, link)
        try await link.perform {
            try PostgresSession($0).execute("DROP OWNED BY \(role); DROP ROLE \(role)")
        }
        await link.close()
    }

    /// The grants are those of the page of DurableJobsPostgres.
    @Test(arguments: [nil, "work places"])
    func roleThatMayOnlyReadAndWriteOpensAndWorks(_ schema: String?) async throws {
        try await withDatabase { url in
            try await JobStorage.postgres(url, schema: schema).migrate()
            try await withRole(url) { url, role, link in
                let name = schema.map(PostgresSession.quoted) ?? "public"
                try await link.perform {
                    let session = PostgresSession($0)
                    try session.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
                    for grant in [
                        "USAGE ON SCHEMA \(name)",
                        "SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA \(name)",
                    ] {
                        try session.execute("GRANT \(grant) TO \(role)")
                    }
                }
                let queue = try await JobQueue("tests", in: .postgres(url, schema: schema))
                let handle = try await queue.enqueue(Echo(text: "works"))
                let batch = try await queue.enqueue(each: 0..<3) { Echo(text: "\($0)") }
                try await withWorker(queue, [Echo.self]) { _ async throws in
                    #expect(try await handle.value == "works")
                    #expect(try await batch.finished().completed == 3)
                }
                _ = try await queue.prune(endedFor: .zero)
                await queue.close()
            }
        }
    }

    @Test func theStatementsOfTheMigrationMakeTheTables() async throws {
        try await withDatabase { url in
            let link = PostgresLink(try PostgresTarget(url), label: "owner")
            let sql = JobStorage.postgresMigration()
            try await link.perform { try PostgresSession($0).execute(sql) }
            await link.close()
            let queue = try await JobQueue("tests", in: .postgres(url))
            let handle = try await queue.enqueue(Echo(text: "made"))
            try await withWorker(queue, [Echo.self]) { _ async throws in
                #expect(try await handle.value == "made")
            }
            await queue.close()
            #expect(JobStorage.postgresMigration(from: JobSchema.version).isEmpty)
        }
    }

    /// A tool makes the tables, and the programs have a role that may only read and write them.
    @Test(arguments: [0, 9, JobSchema.version])
    func theStatementsOfTheMigrationMakeTheTablesOfFiles(from version: Int) async throws {
        try await withDatabase { url in
            let storage = JobStorage.postgres(url).withFiles()
            let link = PostgresLink(try PostgresTarget(url), label: "owner")
            if version > 9 { try await JobStorage.postgres(url).migrate() }
            if version == 9 {
                // It always had the table of attachments.
                try await storage.migrate()
                try await link.perform { connection in
                    let session = PostgresSession(connection)
                    try session.execute("DROP TABLE durable_job_extension")
                    try session.execute("UPDATE durable_job_schema SET version = 9")
                }
            }
            let text = storage.postgresMigration(from: version)
            for _ in 0..<(version == 0 ? 1 : 2) {
                for statement in statements(of: text) {
                    try await link.perform { try PostgresSession($0).execute(statement) }
                }
            }
            try await withRole(url) { url, role, link in
                try await link.perform {
                    let session = PostgresSession($0)
                    try session.execute("REVOKE CREATE ON SCHEMA public FROM PUBLIC")
                    try session.execute(
                        "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public "
                            + "TO \(role)")
                }
                let queue = try await JobQueue("tests", in: .postgres(url).withFiles())
                let handle = try await queue.enqueue(Attach(byteCount: 5))
                try await withWorker(queue, [Attach.self]) { _ async throws in
                    #expect(try await handle.value == 5)
                }
                #expect(try await queue.attachment(of: handle.id)?.count == 5)
                await queue.close()
            }
            await link.close()
        }
    }

    /// The settings of the role decide neither what is on the disk nor which tables are used.
    @Test func settingsOfTheRoleDoNotWeakenPromises() async throws {
        try await withDatabase { url in
            try await withRole(url) { roleURL, role, link in
                let queue = try await JobQueue("tests", in: .postgres(url, schema: "jobs"))
                for change in [
                    "GRANT USAGE ON SCHEMA jobs TO \(role)",
                    "GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA jobs TO \(role)",
                    "ALTER ROLE \(role) SET synchronous_commit = off",
                    "ALTER ROLE \(role) SET search_path = nowhere",
                ] {
                    try await link.perform { try PostgresSession($0).execute(change) }
                }
                let weak = try await JobQueue("tests", in: .postgres(roleURL, schema: "jobs"))
                let setting: @Sendable (any SQLSession) throws -> String? = { session in
                    try session.query("SELECT current_setting('synchronous_commit')").first?.text(0)
                }
                #expect(try await weak.store.database.transaction(.durable, setting) == "on")
                #expect(try await weak.store.database.transaction(.relaxed, setting) == "off")
                let application = try PostgresTarget(roleURL).connect()
                defer { PQfinish(application) }
                try PostgresSession(application).execute("BEGIN")
                let handle = try weak.enqueue(Echo(text: ""), in: .postgres(application))
                try PostgresSession(application).execute("COMMIT")
                #expect(try await queue.info(handle.id)?.state == .available)
                await weak.close()
                await queue.close()
            }
        }
    }

    @Test func manyProgramsMakeTheTablesAtOnce() async throws {
        try await withDatabase { url in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<8 {
                    group.addTask { await (try JobQueue(in: .postgres(url))).close() }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test func jobBelongsToTheCallersTransaction() async throws {
        try await withDatabase { url in
            let queue = try await JobQueue(in: .postgres(url))
            let link = PostgresLink(try PostgresTarget(url), label: "caller")
            let (kept, dropped) = try await link.perform { connection in
                let session = PostgresSession(connection)
                try session.execute("BEGIN")
                let kept = try queue.enqueue(Echo(text: "kept"), in: .postgres(connection))
                try session.execute("COMMIT")
                try session.execute("BEGIN")
                let dropped = try queue.enqueue(Echo(text: "dropped"), in: .postgres(connection))
                try session.execute("ROLLBACK")
                return (kept, dropped)
            }
            try await withWorker(queue, [Echo.self]) { _ async throws in
                #expect(try await kept.value == "kept")
            }
            #expect(try await queue.info(dropped.id) == nil)
            await link.close()
            await queue.close()
        }
    }

    /// The server ends all connections while a worker runs, as at a restart.
    @Test func lostConnectionsAreMadeAgain() async throws {
        try await withDatabase { url in
            let queue = try await JobQueue("tests", in: .postgres(url))
            let link = PostgresLink(try PostgresTarget(url), label: "killer")
            let board = Board.newName()
            try await withWorker(queue, [Note.self]) { _ async throws in
                // A worker that cannot register at the beginning does not run.
                _ = try await queue.enqueue(Note(board: board, line: "first")).value
                for round in 0..<10 {
                    let batch = try await queue.enqueue(
                        (0..<100).map { Note(board: board, line: "\(round) \($0)") })
                    try await link.perform {
                        _ = try PostgresSession($0).query(
                            """
                            SELECT CAST(COUNT(pg_terminate_backend(pid)) AS BIGINT)
                            FROM pg_stat_activity
                            WHERE datname = current_database() AND pid <> pg_backend_pid()
                            """, [])
                    }
                    for handle in batch { _ = try await handle.value }
                }
            }
            #expect(Set(Board.read(board)).count == 1_001)
            #expect(try await queue.counts() == [.completed: 1_001])
            await link.close()
            await queue.close()
        }
    }

    /// A client that vanishes in a transaction would otherwise keep the transaction open for hours.
    @Test func noTransactionStaysOpen() async throws {
        try await withDatabase { url in
            let queue = try await JobQueue("tests", in: .postgres(url))
            let database = queue.store.database
            let limit: @Sendable (any SQLSession) throws -> String? = { session in
                try session.query("SELECT current_setting('idle_in_transaction_session_timeout')")
                    .first?.text(0)
            }
            #expect(try await database.transaction(.durable, limit) == "10s")
            #expect(try await database.transaction(.relaxed, limit) == "10s")
            #expect(try await database.transaction(.relaxed, on: .heartbeat, limit) == "10s")
            await queue.close()
        }
    }

    /// The index of a worker's running jobs has an entry for each earlier run while an old
    /// transaction keeps them.
    @Test func reportFindsItsJobByTheNumber() async throws {
        try await withDatabase { url in
            let queue = try await JobQueue("tests", in: .postgres(url))
            let plan = try await queue.store.database.transaction(.relaxed) { session in
                let arrays = JobStore.report.kinds.map { _ in SQLValue.text("{1}") }
                return try session.query("EXPLAIN \(JobStore.report.arrays)", arrays).map {
                    $0.text(0) ?? ""
                }
            }
            #expect(plan.contains { $0.contains("durable_job_pkey") })
            await queue.close()
        }
    }

    /// Another process is another set of connections: only the notification can tell this worker at
    /// once.
    @Test func notificationWakesAnIdleWorker() async throws {
        try await withDatabase { url in
            let queue = try await JobQueue("tests", in: .postgres(url))
            let other = try await JobQueue("tests", in: .postgres(url))
            let called = Board.signal(Board.newName())
            let watch = queue.store.database.watch("tests") { called.send() }
            // The listener calls once when it is connected.
            #expect(await called.arrives())
            try await other.enqueue(Echo(text: ""))
            #expect(await called.arrives())
            withExtendedLifetime(watch) {}
            await other.close()
            await queue.close()
        }
    }

    /// Ends the connections of a database except the link's own, until it has ended some.
    private func endConnections(_ link: PostgresLink) async throws {
        while try await link.perform({ connection in
            try PostgresSession(connection).query(
                """
                SELECT CAST(COUNT(pg_terminate_backend(pid)) AS BIGINT) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid()
                """, []
            ).first?.integer(0) == 0
        }) {}
    }

    /// An `enqueue` whose only message also commits cannot be repeated, so the loss is to be
    /// noticed before.
    @Test func connectionThatEndedWhileItWasIdleIsNoticed() async throws {
        try await withDatabase { url in
            let link = PostgresLink(try PostgresTarget(url), label: "test")
            let queue = try await JobQueue("tests", in: .postgres(url))
            for number in 0..<5 {
                let handle = try await queue.enqueue(Echo(text: "\(number)"))
                #expect(try await queue.info(handle.id)?.state == .available)
                let processes = try await link.perform { connection in
                    try PostgresSession(connection).query(
                        """
                        SELECT pid::BIGINT FROM pg_stat_activity
                        WHERE datname = current_database() AND pid <> pg_backend_pid()
                        """, []
                    ).map { pid_t($0.integer(0)) }
                }
                try await endConnections(link)
                // The system closes the connection of a process at its end, for which there is no
                // event here.
                for process in processes { while kill(process, 0) == 0 { await Task.yield() } }
            }
            #expect(try await queue.counts() == [.available: 5])
            await link.close()
            await queue.close()
        }
    }

    /// Before COMMIT nothing can have been committed.
    @Test func transactionIsRepeatedOnceWhenItsConnectionIsLost() async throws {
        try await withDatabase { url in
            let link = PostgresLink(try PostgresTarget(url), label: "test")
            let victim = PostgresLink(try PostgresTarget(url), label: "victim")
            let runs = Locked(0)
            let losses = Locked(1)
            let transaction = { () async throws -> Int64? in
                try await victim.transaction(PostgresBeginning()) { session in
                    runs.withLock { $0 += 1 }
                    let process = try session.query("SELECT pg_backend_pid()::BIGINT")
                    let isLost = losses.withLock { losses in
                        losses -= 1
                        return losses >= 0
                    }
                    if isLost {
                        _ = try? session.query("SELECT pg_terminate_backend(pg_backend_pid())")
                    }
                    _ = try session.query("SELECT 1")
                    return process.first?.integer(0)
                }
            }
            #expect(try await transaction() != nil)
            #expect(runs.withLock { $0 } == 2)
            losses.withLock { $0 = 2 }
            await #expect(throws: PostgresFailure.self) { _ = try await transaction() }
            #expect(runs.withLock { $0 } == 4)
            await victim.close()
            await link.close()
        }
    }

    /// What the text form of arrays would have to quote, and more rows than one execution gets.
    @Test func arraysKeepTheirValues() async throws {
        let texts = ["", "NULL", "null", "{a,b}", "\"quoted\"", "back\\slash", " a ", "é👍", "a'b"]
        let rows: [[SQLValue]] = (0..<2_500).map { number in
            let text = number % 10 == 9 ? SQLValue.null : .text(texts[number % 10])
            let bytes = Data([0, 255, UInt8(number % 256)])
            return [
                .integer(Int64(number) - 1_250), text, number % 7 == 0 ? .null : .bytes(bytes),
            ]
        }
        let statement = TableStatement(
            ["a": .integer, "b": .text, "c": .bytes], "SELECT a, b, c FROM given")
        try await withDatabase { url in
            let link = PostgresLink(try PostgresTarget(url), label: "test")
            let found = try await link.transaction(PostgresBeginning()) { session in
                try session.query(statement, rows).map(\.values)
            }
            #expect(found == rows)
            await link.close()
        }
    }

    /// A pooler gives a transaction another connection, on which a statement is missing, or was
    /// prepared for somebody else.
    @Test(arguments: [true, false])
    func preparedStatementsMayDisappear(_ isMissing: Bool) async throws {
        try await withDatabase { url in
            let link = PostgresLink(try PostgresTarget(url), label: "test")
            let sum = { (number: Int64) in
                try await link.transaction(PostgresBeginning()) { session in
                    try session.query("SELECT ?::BIGINT + 1", [.integer(number)])[0].integer(0)
                }
            }
            let names: @Sendable (OpaquePointer) throws -> [String] = { connection in
                try PostgresSession(connection).query(
                    "SELECT name FROM pg_prepared_statements ORDER BY name", []
                ).compactMap { $0.text(0) }
            }
            if isMissing {
                #expect(try await sum(1) == 2)
                #expect(try await link.perform(names).count == 3)
                try await link.perform { try PostgresSession($0).execute("DEALLOCATE ALL") }
            } else {
                let text = "SELECT $1::BIGINT + 1"
                try await link.perform {
                    let name = PreparedStatements().name(of: text)
                    try PostgresSession($0).execute("PREPARE \(name) AS \(text)")
                }
            }
            #expect(try await sum(2) == 3)
            #expect(try await sum(3) == 4)
            // No other statement is prepared for a second use.
            #expect(try await link.perform(names).count == (isMissing ? 0 : 3))
            await link.close()
        }
    }

    /// The statements of a transaction that has announced its end are one message: no other
    /// statement may follow.
    @Test func theLastStatementCommits() async throws {
        try await withDatabase { url in
            let link = PostgresLink(try PostgresTarget(url), label: "test")
            _ = try await link.perform {
                try PostgresSession($0).execute("CREATE TABLE numbers (number BIGINT PRIMARY KEY)")
            }
            for (number, isFirst) in [(1, true), (2, false)] {
                let state = try await link.transaction(PostgresBeginning()) { session in
                    if !isFirst { _ = try session.query("SELECT 1") }
                    session.endsWithNextStatement()
                    _ = try session.query(
                        "INSERT INTO numbers VALUES (?)", [.integer(Int64(number))])
                    return (session as? PostgresSession)?.mayBeCommitted
                }
                #expect(state == true)
            }
            // A failure rolls back, and leaves a connection that works.
            await #expect(throws: PostgresFailure.self) {
                try await link.transaction(PostgresBeginning()) { session in
                    _ = try session.query("INSERT INTO numbers VALUES (3)")
                    session.endsWithNextStatement()
                    _ = try session.query("INSERT INTO numbers VALUES (1)")
                }
            }
            let count = try await link.perform {
                try PostgresSession($0).query("SELECT COUNT(*) FROM numbers", [])
            }
            #expect(count.first?.integer(0) == 2)
            await link.close()
        }
    }

    /// Waits until as many connections of others are open as expected. The server says so a moment
    /// after a connection was closed.
    private func others(_ link: PostgresLink, are count: Int64) async throws {
        while try await link.perform({ connection in
            try PostgresSession(connection).query(
                """
                SELECT COUNT(*) FROM pg_stat_activity
                WHERE datname = current_database() AND pid <> pg_backend_pid()
                """, []
            ).first?.integer(0) != count
        }) {}
    }

    @Test func listenerConnectsAgainAndClosesItsConnections() async throws {
        try await withDatabase { url in
            let target = try PostgresTarget(url)
            let link = PostgresLink(target, label: "test")
            let listening = PostgresLink(target, label: "listening")
            let listener = PostgresListener(listening)
            let called = Board.signal(Board.newName())
            let watch = listener.add("tests") { called.send() }
            for _ in 0..<2 {
                // The listener calls once when it is connected.
                #expect(await called.arrives())
                try await endConnections(link)
            }
            #expect(await called.arrives())
            await listening.close()
            try await others(link, are: 0)
            withExtendedLifetime(watch) {}
            await link.close()
        }
    }

    /// The transaction that finds the connection lost also ends what tells of its loss.
    @Test func aLinkListensAgainAlthoughATransactionCouldNotConnect() async throws {
        try await withDatabase { url in
            let target = try PostgresTarget(url)
            let name = try #require(target.description.split(separator: "/").last)
            let server = try PostgresTarget(PostgresCluster.url("postgres"))
            let link = PostgresLink(target, label: "test")
            let listener = PostgresListener(link)
            let called = Board.signal(Board.newName())
            let watch = listener.add("tests") { called.send() }
            #expect(await called.arrives())
            let hasFailed = Board.signal(Board.newName())
            // On the link's thread, so that the next function comes before the event of the loss.
            try await link.perform { connection in
                let administration = PostgresSession(try server.connect())
                try administration.execute("ALTER DATABASE \(name) ALLOW_CONNECTIONS false")
                link.soon(after: .zero) { connection in
                    #expect(connection == nil)
                    hasFailed.send()
                }
                _ = try administration.query(
                    "SELECT pg_terminate_backend(?, 10000)::INT::BIGINT",
                    [.integer(Int64(PQbackendPID(connection)))])
            }
            #expect(await hasFailed.arrives())
            let administration = PostgresLink(server, label: "administration")
            try await administration.perform {
                try PostgresSession($0).execute("ALTER DATABASE \(name) ALLOW_CONNECTIONS true")
            }
            #expect(await called.arrives())
            withExtendedLifetime(watch) {}
            await link.close()
            await administration.close()
        }
    }

    /// A call, a worker's transaction, a heartbeat and notifications need three connections. A
    /// running worker may use more for a moment, when steps of it meet calls of the program.
    @Test func aStoreWithAWorkerHasThreeConnections() async throws {
        try await withDatabase { url in
            let link = PostgresLink(try PostgresTarget(url), label: "test")
            let database = try await PostgresDatabase(url)
            let called = Board.signal(Board.newName())
            let watch = database.watch("tests") { called.send() }
            // The store calls once when it listens.
            #expect(await called.arrives())
            for lane in [TransactionLane.program, .worker, .heartbeat] {
                _ = try await database.transaction(.relaxed, on: lane) { try $0.now() }
            }
            database.announce("tests")
            #expect(await called.arrives())
            try await others(link, are: 3)
            withExtendedLifetime(watch) {}
            await database.close()
            try await others(link, are: 0)
            await link.close()
        }
    }

    @Test func connectionsForCallsAtTheSameTimeAreClosedWhenTheyAreIdle() async throws {
        try await withDatabase { url in
            let target = try PostgresTarget(url)
            let link = PostgresLink(target, label: "test")
            try await others(link, are: 0)
            let pool = PostgresPool(target, idleTime: .milliseconds(1))
            // Each transaction holds its connection until all four have one.
            let calls = DispatchGroup()
            for _ in 0..<4 { calls.enter() }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        try await pool.transaction(PostgresBeginning()) { session in
                            _ = try session.query("SELECT 1")
                            calls.leave()
                            calls.wait()
                        }
                    }
                }
                try await group.waitForAll()
            }
            try await others(link, are: 1)
            for link in pool.links { await link.close() }
            try await others(link, are: 0)
            await link.close()
        }
    }

    @Test func notificationsGoOnAfterOneThatCouldNotBeSent() async throws {
        try await withDatabase { url in
            let target = try PostgresTarget(url)
            let name = try #require(target.description.split(separator: "/").last)
            let administration = PostgresLink(
                try PostgresTarget(PostgresCluster.url("postgres")), label: "administration")
            func allowConnections(_ isAllowed: Bool) async throws {
                try await administration.perform {
                    try PostgresSession($0).execute(
                        "ALTER DATABASE \(name) ALLOW_CONNECTIONS \(isAllowed)")
                }
            }
            let link = PostgresLink(target, label: "test")
            let notifier = PostgresNotifier(link)
            try await allowConnections(false)
            notifier.announce("tests")
            // The link calls its functions in the order of their times.
            let hasFailed = Board.signal(Board.newName())
            link.soon(after: .milliseconds(1)) { _ in hasFailed.send() }
            #expect(await hasFailed.arrives())
            try await allowConnections(true)
            // The notifier's own link may listen: it also receives what it sends.
            let listener = PostgresListener(link)
            let called = Board.signal(Board.newName())
            let watch = listener.add("tests") { called.send() }
            #expect(await called.arrives())
            notifier.announce("tests")
            #expect(await called.arrives())
            withExtendedLifetime(watch) {}
            await link.close()
            await administration.close()
        }
    }
}
#endif
