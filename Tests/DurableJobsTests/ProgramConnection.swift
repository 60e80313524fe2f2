#if DurableJobs
import CDurableJobsSQLite
import DurableJobs

/// A connection of a program to a SQLite file, which the program has opened by SQLite's functions.
/// It waits for other transactions.
final class ProgramConnection {
    struct Failure: Error {
        let code: Int32
    }

    private var pointer: OpaquePointer?

    init(_ path: String, waitingFor milliseconds: Int32 = 60_000) throws {
        guard sqlite3_open(path, &pointer) == SQLITE_OK else { throw failure }
        sqlite3_busy_timeout(pointer, milliseconds)
    }

    // The older of the two functions that close refuses if a statement is left.
    deinit {
        let code = sqlite3_close(pointer)
        precondition(code == SQLITE_OK, "a statement of the library is left")
    }

    private var failure: Failure { Failure(code: sqlite3_extended_errcode(pointer)) }

    /// What the library gets.
    var transaction: JobTransaction { .sqlite(pointer) }

    func execute(_ sql: String) throws {
        guard sqlite3_exec(pointer, sql, nil, nil, nil) == SQLITE_OK else { throw failure }
    }

    /// Calls a function while a statement of the program has rows left.
    func withUnfinishedStatement(_ body: () throws -> Void) throws {
        var statement: OpaquePointer?
        defer { sqlite3_finalize(statement) }
        guard
            sqlite3_prepare_v2(pointer, "VALUES (1), (2)", -1, &statement, nil) == SQLITE_OK,
            sqlite3_step(statement) == SQLITE_ROW
        else { throw failure }
        try body()
        guard sqlite3_step(statement) == SQLITE_ROW else { throw failure }
    }

    /// Runs a function in a transaction, which is rolled back if the function throws.
    func write<Result>(_ body: (JobTransaction) throws -> Result) throws -> Result {
        try execute("BEGIN IMMEDIATE")
        do {
            let result = try body(transaction)
            try execute("COMMIT")
            return result
        } catch {
            try? execute("ROLLBACK")
            throw error
        }
    }
}
#endif
