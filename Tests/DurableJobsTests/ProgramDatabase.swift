#if DurableJobs
import DurableJobs

#if DurableJobsPostgres
import CDurableJobsLibPQ

@testable import DurableJobsPostgres
#endif

/// The database of a queue, as the program that shares it sees it.
struct ProgramDatabase: Sendable {
    /// What the program does in one transaction.
    struct Connection {
        let transaction: JobTransaction
        fileprivate let executes: (String) throws -> Void

        func execute(_ sql: String) throws { try executes(sql) }
    }

    private enum Place {
        case file(String)
        #if DurableJobsPostgres
        case postgres(String)
        #endif
    }

    private let place: Place
    /// How long a connection to a file waits for other transactions, in milliseconds.
    private var patience: Int32 = 60_000

    private init(place: Place) { self.place = place }

    /// - Parameter store: the path of a file, or a URL of PostgreSQL.
    init(of store: String, waitingFor milliseconds: Int32 = 60_000) {
        patience = milliseconds
        #if DurableJobsPostgres
        if store.hasPrefix("postgres:") {
            place = .postgres(store)
            return
        }
        #endif
        place = .file(store)
    }

    /// Makes an empty database, calls a function with it and with a queue in it, and deletes it.
    static func with(
        _ kind: StoreKind, _ body: (ProgramDatabase, JobQueue) async throws -> Void
    ) async throws {
        switch kind {
        case .file:
            try await withFolder { folder in
                let path = "\(folder)/jobs.sqlite"
                try await closing(try await JobQueue("tests", in: .file(path))) {
                    try await body(ProgramDatabase(place: .file(path)), $0)
                }
            }
        #if DurableJobsPostgres
        case .postgres:
            try await withDatabase { url in
                try await closing(try await JobQueue("tests", in: .postgres(url))) {
                    try await body(ProgramDatabase(place: .postgres(url)), $0)
                }
            }
        #endif
        }
    }

    /// Runs a function in a transaction on a connection of its own. The transaction is rolled back
    /// if the function throws.
    func write<Result>(_ body: (Connection) throws -> Result) throws -> Result {
        switch place {
        case .file(let path):
            let program = try ProgramConnection(path, waitingFor: patience)
            return try program.write { transaction in
                try body(Connection(transaction: transaction, executes: program.execute))
            }
        #if DurableJobsPostgres
        case .postgres(let url):
            let pointer = try PostgresTarget(url).connect()
            defer { PQfinish(pointer) }
            let session = PostgresSession(pointer)
            try session.execute("BEGIN")
            let result = try body(
                Connection(transaction: .postgres(pointer), executes: session.execute))
            try session.execute("COMMIT")
            return result
        #endif
        }
    }
}
#endif
