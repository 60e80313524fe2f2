#if DurableJobs
package import GRDB

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// The statements of one transaction on a GRDB connection.
package struct SQLiteSession: SQLSession {
    private let database: Database

    package init(_ database: Database) { self.database = database }

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

    package func query(_ sql: String, _ arguments: [SQLValue]) throws -> [SQLRow] {
        try run(database.cachedStatement(sql: Self.translations[sql]), arguments)
    }

    package func batch(_ sql: String, _ arguments: [[SQLValue]]) throws -> [[SQLRow]] {
        guard !arguments.isEmpty else { return [] }
        let statement = try database.cachedStatement(sql: Self.translations[sql])
        return try arguments.map { try run(statement, $0) }
    }

    package func query(_ statement: TableStatement, _ given: [[SQLValue]]) throws -> [SQLRow] {
        try batch(statement.single, given).flatMap { $0 }
    }

    private func run(_ statement: Statement, _ arguments: [SQLValue]) throws -> [SQLRow] {
        try statement.setArguments(StatementArguments(arguments.map { $0.databaseValue }))
        guard statement.columnCount > 0 else {
            try statement.execute()
            return []
        }
        let count = statement.columnCount
        var rows: [SQLRow] = []
        let cursor = try Row.fetchCursor(statement)
        while let row = try cursor.next() {
            rows.append(SQLRow((0..<count).map { SQLValue(row.databaseValue(at: $0)) }))
        }
        return rows
    }

    /// Adds the functions that give statements the time.
    package static func addFunctions(to database: Database, _ time: SQLiteTime) {
        for (name, value) in [
            ("jobs_now", time.wall), ("jobs_lease_now", time.sinceBoot),
        ] {
            database.add(function: DatabaseFunction(name, argumentCount: 0) { _ in value() })
        }
        database.add(function: DatabaseFunction("jobs_boot", argumentCount: 0) { _ in time.boot })
    }
}

extension Row {
    fileprivate func databaseValue(at index: Int) -> DatabaseValue { self[index] }
}

extension SQLValue {
    fileprivate var databaseValue: DatabaseValue {
        switch self {
        case .null: .null
        case .integer(let value): value.databaseValue
        case .text(let value): value.databaseValue
        case .bytes(let value): value.databaseValue
        }
    }

    fileprivate init(_ value: DatabaseValue) {
        switch value.storage {
        case .null: self = .null
        case .int64(let value): self = .integer(value)
        case .double(let value): self = .integer(Int64(value))
        case .string(let value): self = .text(value)
        case .blob(let value): self = .bytes(value)
        }
    }
}
#endif
