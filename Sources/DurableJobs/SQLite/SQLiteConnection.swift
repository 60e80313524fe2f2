#if DurableJobs
import CDurableJobsSQLite

/// A connection of SQLite, with the statements that it has prepared: to prepare one again takes
/// longer than to execute it. There are as many as the library has texts of statements.
///
/// The connection has no lock: one thread at a time uses it. It waits for the transactions of other
/// connections, and then fails.
final class SQLiteConnection: @unchecked Sendable {
    // Unchecked: its owner uses it on one serial queue.

    /// How long a connection waits for others to end their transactions.
    static let patience = Duration.seconds(30)

    /// SQLite's own connection; nil after `close()`.
    private(set) var pointer: OpaquePointer?
    private let isBorrowed: Bool
    private var statements: [String: SQLiteStatement] = [:]

    /// Opens a file, which is created if it does not exist and may be written, or a database in
    /// memory.
    init(path: String = ":memory:", isReadOnly: Bool = false) throws {
        let access = isReadOnly ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
        isBorrowed = false
        var code = sqlite3_open_v2(path, &pointer, access | SQLITE_OPEN_NOMUTEX, nil)
        if code == SQLITE_OK {
            sqlite3_busy_handler(pointer, { SQLiteConnection.waits(after: $1) }, nil)
            // SQLite itself reads a file when it is first used.
            code = sqlite3_exec(pointer, "SELECT 1 FROM sqlite_master LIMIT 1", nil, nil, nil)
        }
        guard code == SQLITE_OK else { throw SQLiteError(pointer) }
    }

    /// Uses a connection of the program, whose settings stay as they are.
    init(borrowing connection: OpaquePointer) { (pointer, isBorrowed) = (connection, true) }

    deinit { close() }

    /// Releases the statements, and closes the connection unless it is the program's.
    func close() {
        statements = [:]
        if !isBorrowed { sqlite3_close_v2(pointer) }
        pointer = nil
    }

    /// SQLite's own handler sleeps up to 100 ms between its attempts.
    private static func waits(after attempts: Int32) -> Int32 {
        guard .microseconds(500) * Int(attempts) < patience else { return 0 }
        Machine.pause()
        return 1
    }

    // MARK: Statements

    /// The statement with a text, which is prepared when it is first used.
    func statement(_ sql: String) throws -> SQLiteStatement {
        if let known = statements[sql] { return known }
        let new = try SQLiteStatement(sql, on: pointer)
        statements[sql] = new
        return new
    }

    /// Executes a statement whose rows nobody needs, and forgets it.
    func execute(_ sql: String) throws {
        guard sqlite3_exec(pointer, sql, nil, nil, nil) == SQLITE_OK else {
            throw SQLiteError(pointer)
        }
    }

    /// Runs a function in a transaction, which is rolled back if the function throws.
    ///
    /// - Parameter begin: the statement that begins the transaction.
    func transaction<Result>(_ begin: String, _ body: () throws -> Result) throws -> Result {
        try execute(begin)
        do {
            let result = try body()
            try execute("COMMIT")
            return result
        } catch {
            // After some errors, SQLite has rolled back.
            if isInTransaction { try? execute("ROLLBACK") }
            throw error
        }
    }

    var isInTransaction: Bool { sqlite3_get_autocommit(pointer) == 0 }

    /// The path of the file; nil for a database in memory, or in a file without a name.
    var file: String? {
        let path = sqlite3_db_filename(pointer, "main").map { String(cString: $0) }
        return path == "" ? nil : path
    }

    // MARK: Functions

    private final class Function {
        let value: () -> SQLValue

        init(_ value: @escaping () -> SQLValue) { self.value = value }
    }

    /// Adds a function for statements, which has no arguments and may return another value each
    /// time.
    func addFunction(_ name: String, _ value: @escaping @Sendable () -> SQLValue) throws {
        let function = Unmanaged.passRetained(Function(value))
        let code = sqlite3_create_function_v2(
            pointer, name, 0, SQLITE_UTF8, function.toOpaque(),
            { context, _, _ in
                guard let function = sqlite3_user_data(context) else { return }
                switch Unmanaged<Function>.fromOpaque(function).takeUnretainedValue().value() {
                case .integer(let number): sqlite3_result_int64(context, number)
                case .text(let text):
                    let count = UInt64(text.utf8.count)
                    sqlite3_result_text64(
                        context, text, count, SQLiteStatement.copying, UInt8(SQLITE_UTF8))
                case .null, .bytes: sqlite3_result_null(context)
                }
            }, nil, nil,
            // SQLite calls this also if it refuses the function.
            { function in
                guard let function else { return }
                Unmanaged<Function>.fromOpaque(function).release()
            })
        // SQLite does not replace a function while a statement of the program runs. The function is
        // there then.
        guard code == SQLITE_OK || code == SQLITE_BUSY else { throw SQLiteError(pointer) }
    }
}
#endif
