#if DurableJobs
import CDurableJobsSQLite
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

@testable import DurableJobs

#if DurableJobsPostgres
import CDurableJobsLibPQ

@testable import DurableJobsPostgres
#endif

/// Statements that other clients of the database execute: here the functions of SQLite and libpq.
@Suite(.timeLimit(.minutes(5)))
struct StatementContractTests {
    private struct Failure: Error {
        let description: String
    }

    /// A connection of a program that knows nothing of the library.
    private protocol Client {
        /// Executes a statement, and returns the first column of its rows.
        func execute(_ sql: String, _ parameters: [String?]) throws -> [String]
    }

    private final class SQLiteClient: Client {
        private var pointer: OpaquePointer?

        init(_ path: String) throws {
            guard sqlite3_open(path, &pointer) == SQLITE_OK else { throw failure }
            sqlite3_busy_timeout(pointer, 60_000)
        }

        deinit { sqlite3_close(pointer) }

        private var failure: Failure {
            Failure(description: String(cString: sqlite3_errmsg(pointer)))
        }

        func execute(_ sql: String, _ parameters: [String?]) throws -> [String] {
            var statement: OpaquePointer?
            guard sqlite3_prepare_v2(pointer, sql, -1, &statement, nil) == SQLITE_OK else {
                throw failure
            }
            defer { sqlite3_finalize(statement) }
            // SQLite copies the text.
            let copies = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
            for (index, parameter) in parameters.enumerated() {
                guard let parameter else { continue }
                sqlite3_bind_text(statement, Int32(index + 1), parameter, -1, copies)
            }
            var rows: [String] = []
            while true {
                switch sqlite3_step(statement) {
                case SQLITE_ROW: rows.append(String(cString: sqlite3_column_text(statement, 0)))
                case SQLITE_DONE: return rows
                default: throw failure
                }
            }
        }
    }

    #if DurableJobsPostgres
    private final class PostgresClient: Client {
        private let pointer: OpaquePointer

        init(_ url: String) throws { pointer = try PostgresTarget(url).connect() }

        deinit { PQfinish(pointer) }

        func execute(_ sql: String, _ parameters: [String?]) throws -> [String] {
            let values = parameters.map { $0.flatMap { UnsafePointer(strdup($0)) } }
            defer { for value in values { free(UnsafeMutableRawPointer(mutating: value)) } }
            let result = PQexecParams(
                pointer, sql, Int32(values.count), nil, values, nil, nil, 0)
            defer { PQclear(result) }
            switch PQresultStatus(result) {
            case PGRES_COMMAND_OK: return []
            case PGRES_TUPLES_OK:
                return (0..<PQntuples(result)).map { String(cString: PQgetvalue(result, $0, 0)) }
            default: throw Failure(description: String(cString: PQresultErrorMessage(result)))
            }
        }
    }
    #endif

    private func withClient(
        _ kind: StoreKind, _ body: (JobQueue, any Client) async throws -> Void
    ) async throws {
        switch kind {
        case .file:
            try await withFolder { folder in
                let path = "\(folder)/jobs.sqlite"
                try await closing(try await JobQueue("tests", in: .file(path))) {
                    try await body($0, try SQLiteClient(path))
                }
            }
        #if DurableJobsPostgres
        case .postgres:
            try await withDatabase { url in
                let storage = JobStorage.postgres(url, schema: "jobs of mine")
                try await closing(try await JobQueue("tests", in: storage)) {
                    try await body($0, try PostgresClient(url))
                }
            }
        #endif
        }
    }

    private func execute(_ statement: JobStatement, _ client: any Client) throws -> [JobID] {
        try client.execute(statement.text, statement.parameters).map { text in
            JobID(try #require(Int64(text)))
        }
    }

    private func row(_ queue: JobQueue, _ id: JobID) async throws -> [SQLValue] {
        let values = try await queue.store.database.transaction(.relaxed) {
            try $0.query(
                """
                SELECT queue, name, version, state, rank, base_rank, position, retry_limit,
                    backoff, timeout, pending, is_wide, unique_key, exclusive_key, slots, batch,
                    deadline - enqueued_at, run_at - enqueued_at, arguments
                FROM durable_job WHERE id = ?
                """, [.integer(id.rawValue)]
            ).first?.values
        }
        return try #require(values)
    }

    /// The rows are those of `enqueue`, so a worker runs the jobs.
    @Test(arguments: StoreKind.allCases)
    func statementStoresWhatEnqueueStores(_ kind: StoreKind) async throws {
        try await withClient(kind) { queue, client async throws in
            let echo = Echo(text: "a \"b\" / ü 💡")
            let traits: [[JobTrait]] = [
                [], [.retry(3)], [.retry(2, backoff: .constant(.seconds(5))), .priority(.high)],
                [.timeout(.milliseconds(1_500)), .deadline(in: .seconds(3_600))],
                [.delay(.seconds(60)), .exclusive(by: 7), .priority(.veryLow)],
                [.limited(to: 4, by: ["a", "b"])],
            ]
            for traits in traits {
                let swift = try await queue.enqueue(echo, traits, after: [])
                let statement: JobStatement =
                    switch traits.count {
                    case 0: try queue.statement(toEnqueue: echo)
                    case 1: try queue.statement(toEnqueue: echo, traits[0])
                    case 2: try queue.statement(toEnqueue: echo, traits[0], traits[1])
                    default: try queue.statement(toEnqueue: echo, traits[0], traits[1], traits[2])
                    }
                let id = try #require(try execute(statement, client).first)
                let (expected, found) = (
                    try await row(queue, swift.id), try await row(queue, id)
                )
                // PostgreSQL writes JSON in another way.
                for row in [expected, found] {
                    guard case .bytes(let data)? = row.last else {
                        Issue.record("there are no bytes")
                        continue
                    }
                    #expect(try Echo.decode(data, version: 1).text == echo.text)
                }
                // Swift counts from a look at the clock before, so times differ by milliseconds.
                for column in [16, 17] {
                    guard case .integer(let a) = expected[column],
                        case .integer(let b) = found[column]
                    else {
                        #expect(expected[column] == found[column])
                        continue
                    }
                    #expect(abs(a - b) < 2_000)
                }
                #expect(found.prefix(16) == expected.prefix(16), "\(statement)")
            }
            let handle = queue.handle(of: Echo.self, id: JobID(2))
            try await withWorker(queue, [Echo.self]) { _ async throws in
                #expect(try await handle.value == echo.text)
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func theTransactionOfTheClientDecides(_ kind: StoreKind) async throws {
        try await withClient(kind) { queue, client async throws in
            let statement = try queue.statement(
                toEnqueue: (0..<300).map { Echo(text: "\($0)") }, .retry(1))
            _ = try client.execute("BEGIN", [])
            #expect(try execute(statement, client).count == 300)
            _ = try client.execute("ROLLBACK", [])
            #expect(try await queue.counts().isEmpty)
            let ids = try execute(statement, client)
            #expect(ids == ids.sorted() && ids.count == 300)
            #expect(try await queue.unfinished(Echo.self).map(\.text) == (0..<300).map(String.init))
        }
    }

    @Test(arguments: StoreKind.allCases)
    func unfinishedJobOfTheKeyIsJoined(_ kind: StoreKind) async throws {
        try await withClient(kind) { queue, client async throws in
            let first = try await queue.enqueue(Echo(text: "a"), .unique(by: ["k": 1]))
            let statement = try queue.statement(
                toEnqueue: [Echo(text: "b"), Echo(text: "c")], .unique(by: ["k": 1]))
            #expect(try execute(statement, client) == [first.id, first.id])
            #expect(try await queue.unfinished(Echo.self).map(\.text) == ["a"])
            try await queue.cancel(first.id)
            #expect(try execute(statement, client).allSatisfy { $0 != first.id })
            #expect(try await queue.unfinished(Echo.self).map(\.text) == ["b"])
        }
    }

    @Test func whatOneStatementOfSQLiteCannotDoIsRefused() async throws {
        try await withClient(.file) { queue, _ async throws in
            for traits: [JobTrait] in [
                [.unique(by: 1, for: .seconds(1)), .retry(1)], [.group("a"), .retry(1)],
                [.unique(by: 1), .joining(.postponing)],
            ] {
                let error = #expect(throws: JobError.self) {
                    try queue.statement(toEnqueue: Echo(text: ""), traits[0], traits[1])
                }
                #expect(error?.description.contains("write enqueue(_:in: .sqlite") == true)
            }
        }
    }

    #if DurableJobsPostgres
    @Test func keysThatOutliveTheirJobsChangesAndGroups() async throws {
        try await withClient(.postgres) { queue, client async throws in
            func run(_ text: String, _ traits: JobTrait...) async throws -> JobID {
                let echo = Echo(text: text)
                let statement = try queue.statement(toEnqueue: echo, traits[0], traits[1])
                return try #require(try execute(statement, client).first)
            }
            let changes = JobTrait.joining([.replacingArguments, .postponing])
            let id = try await run("a", .unique(by: "k"), changes)
            #expect(try await run("b", .unique(by: "k"), changes) == id)
            #expect(try await queue.unfinished(Echo.self).map(\.text) == ["b"])
            try await queue.cancel(id)
            let age = JobTrait.unique(by: "k", for: .seconds(60))
            #expect(try await run("c", age, .retry(1)) == id)
            let now = try await queue.store.now()
            while try await queue.store.now() <= now { await Task.yield() }
            #expect(try await queue.prune(endedFor: .zero, discardedFor: .zero) == 1)
            #expect(try await run("c", age, .retry(1)) == id)
            #expect(try await run("d", .unique(by: "k"), .retry(1)) != id)

            try await queue.enqueue((0..<3).map { Echo(text: "\($0)") }, .group("g"))
            let next = try await run("e", .group("g"), .retry(1))
            #expect(try await row(queue, next)[6] == .integer(4))
        }
    }

    /// Whoever writes it, a row that makes no sense has the name of what it breaks.
    @Test(arguments: [
        ("state = 7", "durable_job_known_state"), ("rank = 3", "durable_job_sensible_numbers"),
        ("retry_limit = -1", "durable_job_sensible_numbers"),
        ("slots = 0", "durable_job_sensible_numbers"), ("name = ''", "durable_job_named"),
    ])
    func nonsenseIsRefusedByName(change: String, name: String) async throws {
        try await withClient(.postgres) { queue, client async throws in
            try await queue.enqueue(Echo(text: ""))
            let error = #expect(throws: Failure.self) {
                try client.execute("UPDATE \"jobs of mine\".durable_job SET \(change)", [])
            }
            #expect(error?.description.contains("\"\(name)\"") == true)
        }
    }
    #endif
}
#endif
