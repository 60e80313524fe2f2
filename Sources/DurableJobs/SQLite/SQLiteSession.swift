#if DurableJobs
/// The statements of one transaction on a connection of SQLite.
struct SQLiteSession: SQLSession {
    private let connection: SQLiteConnection

    init(_ connection: SQLiteConnection) { self.connection = connection }

    static let dialect = SQLDialect(
        words: [
            ("{now}", "jobs_now()"), ("{lease_now}", "jobs_lease_now()"), ("{boot}", "jobs_boot()"),
            ("{alive}", "(lease_until > jobs_lease_now() AND boot = jobs_boot())"),
            ("{skip_locked}", ""), ("{delete_skip_locked}", ""), ("{lock}", ""), ("{keep}", ""),
            ("{bytes}", "BLOB"),
            (
                "{has_tables}",
                "(SELECT COUNT(*) FROM sqlite_master WHERE name = 'durable_job_schema')"
            ),
            ("{serial}", "INTEGER PRIMARY KEY AUTOINCREMENT"),
        ],
        numbersArguments: false)

    private static let translations = TranslationCache(dialect)

    /// One transaction at a time writes.
    var locksRows: Bool { false }

    func query(_ sql: String, _ arguments: [SQLValue]) throws -> [SQLRow] {
        try connection.statement(Self.translations[sql]).rows(arguments)
    }

    func batch(_ sql: String, _ arguments: [[SQLValue]]) throws -> [[SQLRow]] {
        guard !arguments.isEmpty else { return [] }
        let statement = try connection.statement(Self.translations[sql])
        return try arguments.map { try statement.rows($0) }
    }

    func query(_ statement: TableStatement, _ given: [[SQLValue]]) throws -> [SQLRow] {
        try batch(statement.single, given).flatMap { $0 }
    }

    /// Adds the functions that give statements the time.
    static func addFunctions(to connection: SQLiteConnection, _ time: SQLiteTime) throws {
        try connection.addFunction("jobs_now") { .integer(time.wall()) }
        try connection.addFunction("jobs_lease_now") { .integer(time.sinceBoot()) }
        try connection.addFunction("jobs_boot") { .text(time.boot) }
    }
}
#endif
