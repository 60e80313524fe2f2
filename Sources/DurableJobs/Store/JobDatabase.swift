#if DurableJobs
#if canImport(FoundationEssentials)
package import FoundationEssentials
#else
package import Foundation
#endif

/// A value of a statement's argument or of a row's column.
package enum SQLValue: Sendable, Hashable {
    case null
    case integer(Int64)
    case text(String)
    case bytes(Data)

    package init(_ value: Int64?) { self = value.map(SQLValue.integer) ?? .null }
    package init(_ value: String?) { self = value.map(SQLValue.text) ?? .null }
    package init(_ value: Data?) { self = value.map(SQLValue.bytes) ?? .null }
    package init(_ value: Bool) { self = .integer(value ? 1 : 0) }
}

/// A row of a result.
package struct SQLRow: Sendable {
    package let values: [SQLValue]

    package init(_ values: [SQLValue]) { self.values = values }

    package func integer(_ column: Int) -> Int64 { optionalInteger(column) ?? 0 }

    package func optionalInteger(_ column: Int) -> Int64? {
        if case .integer(let value) = values[column] { value } else { nil }
    }

    package func flag(_ column: Int) -> Bool { integer(column) != 0 }

    package func text(_ column: Int) -> String? {
        if case .text(let value) = values[column] { value } else { nil }
    }

    package func bytes(_ column: Int) -> Data? {
        if case .bytes(let value) = values[column] { value } else { nil }
    }
}

/// A statement about a table of values, which it calls `given`.
///
/// A database that answers over a network gets the whole table at once, in an array for each
/// column; another one executes the statement for each row.
package struct TableStatement: Sendable {
    package enum Kind: String, Sendable {
        case integer = "BIGINT"
        case text = "TEXT"
        case bytes = "{bytes}"
    }

    package let kinds: [Kind]
    /// The statement for one row.
    package let single: String
    /// The statement for arrays.
    package let arrays: String

    /// - Parameters:
    ///   - columns: the columns of `given`, whose names differ from those of the other tables
    ///     wherever the statement does not say which table it means.
    ///   - sql: the statement.
    package init(_ columns: KeyValuePairs<String, Kind>, _ sql: String) {
        kinds = columns.map(\.value)
        let given = "WITH given (\(columns.map(\.key).joined(separator: ", "))) AS"
        single = "\(given) (VALUES (\(columns.map { _ in "?" }.joined(separator: ", ")))) \(sql)"
        let arrays = kinds.map { "?::\($0.rawValue)[]" }.joined(separator: ", ")
        self.arrays = "\(given) (SELECT * FROM unnest(\(arrays))) \(sql)"
    }
}

/// The statements of one transaction. Used on the thread that runs the transaction only.
///
/// Statements are written once for all databases, with `?` for arguments, and with words in braces
/// for the parts that differ; see ``SQLDialect``.
package protocol SQLSession {
    /// Executes one statement.
    func query(_ sql: String, _ arguments: [SQLValue]) throws -> [SQLRow]

    /// Executes one statement for each list of arguments, in their order, and returns the rows of
    /// each execution.
    func batch(_ sql: String, _ arguments: [[SQLValue]]) throws -> [[SQLRow]]

    /// Executes a statement for the rows of `given`, in their order, and returns the rows of all
    /// executions, in any order.
    func query(_ statement: TableStatement, _ given: [[SQLValue]]) throws -> [SQLRow]

    /// Whether other transactions run at the same time, so that statements lock rows.
    var locksRows: Bool { get }

    /// Says that the next statement is the last one of the transaction. A database may commit the
    /// transaction together with it.
    func endsWithNextStatement()
}

extension SQLSession {
    package func query(_ sql: String) throws -> [SQLRow] { try query(sql, []) }

    /// The store's time in milliseconds since 1970.
    package func now() throws -> Int64 { try query("SELECT {now}").first?.integer(0) ?? 0 }

    package func endsWithNextStatement() {}
}

/// What a transaction promises.
package enum TransactionKind: Sendable {
    /// Synced to the disk before the call returns.
    case durable
    /// Atomic; a crash of the machine or of the database may lose the transaction.
    case relaxed
    /// Only reads, from one state of the database, and waits for no transaction that writes.
    case reading
}

/// Who runs a transaction. A database may have connections of their own for each, so that one does
/// not wait for what blocks another.
package enum TransactionLane: Sendable {
    /// The calls of the program, and the background steps of workers.
    case program
    /// The ends of attempts and the claims of workers. These transactions wait for the locks of
    /// others only for a short time, and then throw ``JobError/locked(store:reason:)``.
    case worker
    /// Heartbeats, which wait for no other transaction of this process.
    case heartbeat
}

/// A database with the tables of durable jobs.
package protocol JobDatabase: Sendable {
    /// The name of the database for people, without passwords.
    var description: String { get }

    /// Runs a transaction. The function may be called again if the database asks for it.
    ///
    /// - Throws: the error of the function, after a rollback; ``JobError`` if the database refuses
    ///   the transaction, or if the end of the transaction is unknown.
    func transaction<Result: Sendable>(
        _ kind: TransactionKind, on lane: TransactionLane,
        _ body: @escaping @Sendable (any SQLSession) throws -> Result
    ) async throws -> Result

    /// Calls a function soon after another process may have changed jobs of a queue, until the
    /// returned object is released. May call it at any other time, too.
    func watch(_ queue: String, _ changed: @escaping @Sendable () -> Void) -> any Sendable

    /// Tells the watchers of other processes about new jobs; called after the transaction.
    func announce(_ queue: String)

    /// Calls a function soon after another process may have changed the pauses of a queue, until
    /// the returned object is released. A database need not call it: workers look once a second.
    func watchPauses(_ queue: String, _ changed: @escaping @Sendable () -> Void) -> any Sendable

    /// Tells the watchers of other processes about changed pauses; called after the transaction.
    func announcePauses(_ queue: String)

    /// Returns a statement for another client that stores jobs.
    ///
    /// - Parameters:
    ///   - job: the traits of all jobs.
    ///   - arguments: those of each job.
    ///   - isArray: whether the caller has an array of jobs.
    func statement(
        _ job: NewJob, _ arguments: [Data], isArray: Bool, in queue: String
    ) throws -> JobStatement

    /// Closes the connections. Later transactions throw ``JobError/closed``.
    func close() async
}

extension JobDatabase {
    package func watchPauses(
        _ queue: String, _ changed: @escaping @Sendable () -> Void
    ) -> any Sendable { () }

    package func announcePauses(_ queue: String) {}

    /// Runs a transaction of the program.
    package func transaction<Result: Sendable>(
        _ kind: TransactionKind, _ body: @escaping @Sendable (any SQLSession) throws -> Result
    ) async throws -> Result {
        try await transaction(kind, on: .program, body)
    }
}

/// The parts of statements that differ between databases.
package struct SQLDialect: Sendable {
    /// The words in braces, and what replaces them.
    package let words: [(String, String)]
    /// Whether arguments are numbered, as in `$1`.
    package let numbersArguments: Bool
    /// What comes before the names of tables.
    package let qualifier: String

    package init(words: [(String, String)], numbersArguments: Bool, qualifier: String = "") {
        (self.words, self.numbersArguments) = (words, numbersArguments)
        self.qualifier = qualifier
    }

    /// Returns the statement for this database.
    package func translate(_ sql: String) -> String {
        var result = ""
        result.reserveCapacity(sql.utf8.count + 64)
        var argument = 0
        var rest = Substring(sql)
        var isInName = false
        while let character = rest.first {
            if !isInName, !qualifier.isEmpty, rest.hasPrefix("durable_job") { result += qualifier }
            isInName = character.isLetter || character.isNumber || "_.'\"".contains(character)
            if character == "{", let word = words.first(where: { rest.hasPrefix($0.0) }) {
                result += word.1
                rest = rest.dropFirst(word.0.count)
                continue
            }
            rest = rest.dropFirst()
            if character == "?", numbersArguments {
                argument += 1
                result += "$\(argument)"
            } else {
                result.append(character)
            }
        }
        return result
    }
}
#endif
