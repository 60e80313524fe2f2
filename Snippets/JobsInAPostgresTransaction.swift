// snippet.hide
// Jobs in a transaction on a connection of libpq
#if DurableJobsPostgres
import CDurableJobsLibPQ
import DurableJobs
import DurableJobsPostgres
import Operations

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

struct SendReceipt: Job {
    static let name = "send receipt"
    var sale: String

    func perform(in context: JobContext) async throws -> NoOutput { NoOutput() }
}

// snippet.show
struct DatabaseError: Error {
    let message: String
}

/// A connection of libpq. Not `Sendable`, as its pointer: it belongs to one actor.
final class Connection {
    private let pointer: OpaquePointer

    init(_ url: String) throws {
        guard let pointer = PQconnectdb(url) else { throw DatabaseError(message: "no memory") }
        self.pointer = pointer
        guard PQstatus(pointer) == CONNECTION_OK else { throw lastError }
    }

    deinit { PQfinish(pointer) }

    private var lastError: DatabaseError {
        DatabaseError(message: String(cString: PQerrorMessage(pointer)))
    }

    /// Executes a statement, and returns the first value of its first row.
    @discardableResult
    func execute(_ sql: String, _ argument: String? = nil) throws -> String? {
        let result =
            if let argument {
                argument.withCString { PQexecParams(pointer, sql, 1, nil, [$0], nil, nil, 0) }
            } else {
                PQexec(pointer, sql)
            }
        defer { PQclear(result) }
        switch PQresultStatus(result) {
        case PGRES_COMMAND_OK: return nil
        case PGRES_TUPLES_OK: return String(cString: PQgetvalue(result, 0, 0))
        default: throw lastError
        }
    }

    /// Calls a function in a transaction, in which it may also store jobs.
    func transaction<Result>(_ body: (JobTransaction) throws -> Result) throws -> Result {
        try execute("BEGIN")
        do {
            let result = try body(.postgres(pointer))
            try execute("COMMIT")
            return result
        } catch {
            _ = try? execute("ROLLBACK")
            throw error
        }
    }
}

/// The only user of its connection. libpq blocks its thread, so the actor has an executor for that.
actor Shop {
    private nonisolated let executor = SerialWorkerExecutor()
    nonisolated var unownedExecutor: UnownedSerialExecutor {
        executor.asUnownedSerialExecutor()
    }

    private let connection: Connection
    private let jobs: JobQueue

    init(_ url: String, _ jobs: JobQueue) throws {
        connection = try Connection(url)
        self.jobs = jobs
    }

    func sell(_ item: String) throws {
        try connection.transaction { transaction in
            let sale = try connection.execute(
                "INSERT INTO sale (item) VALUES ($1) RETURNING id", item)
            try jobs.enqueue(SendReceipt(sale: sale ?? ""), in: transaction)
        }
    }
}
// snippet.hide

// The tests of the documentation have no server.
if let url = ProcessInfo.processInfo.environment["SHOP_DATABASE"] {
    let jobs = try await JobQueue("shop", in: .postgres(url))
    try Connection(url).execute("CREATE TABLE sale (id SERIAL, item TEXT)")
    try await Shop(url, jobs).sell("tea")
    print(try await jobs.list().map(\.name))
    await jobs.close()
} else {
    print("SHOP_DATABASE names no database")
}
#endif

// Prints:
// SHOP_DATABASE names no database
