#if DurableJobs
import CDurableJobsSQLite

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A statement that SQLite has prepared for one connection, and that is used on its thread.
final class SQLiteStatement {
    private let connection: OpaquePointer?
    private let statement: OpaquePointer

    init(_ sql: String, on connection: OpaquePointer?) throws {
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(
            connection, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement else { throw SQLiteError(connection) }
        (self.connection, self.statement) = (connection, statement)
    }

    deinit { sqlite3_finalize(statement) }

    /// Executes the statement to its end, and returns its rows.
    func rows(_ arguments: [SQLValue]) throws -> [SQLRow] {
        defer {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        let count = sqlite3_bind_parameter_count(statement)
        guard count == arguments.count else {
            throw SQLiteError(
                code: SQLITE_RANGE, message: "\(arguments.count) arguments for \(count) parameters")
        }
        for (index, value) in arguments.enumerated() {
            guard bind(value, at: Int32(index + 1)) == SQLITE_OK else {
                throw SQLiteError(connection)
            }
        }
        var rows: [SQLRow] = []
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW:
                // The database may have changed since the statement was prepared.
                let columns = 0..<sqlite3_data_count(statement)
                rows.append(SQLRow(try columns.map { try value(at: $0) }))
            case SQLITE_DONE: return rows
            default: throw SQLiteError(connection)
            }
        }
    }

    /// Tells SQLite to copy a text, or bytes.
    static var copying: sqlite3_destructor_type? {
        unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    }

    /// Gives SQLite a copy of a value. A pointer that is nil would be NULL.
    private func bind(_ value: SQLValue, at index: Int32) -> Int32 {
        switch value {
        case .null: return sqlite3_bind_null(statement, index)
        case .integer(let number): return sqlite3_bind_int64(statement, index, number)
        case .text(let text):
            let count = UInt64(text.utf8.count)
            return sqlite3_bind_text64(
                statement, index, text, count, Self.copying, UInt8(SQLITE_UTF8))
        case .bytes(let data):
            guard !data.isEmpty else { return sqlite3_bind_zeroblob(statement, index, 0) }
            return data.withUnsafeBytes {
                sqlite3_bind_blob64(
                    statement, index, $0.baseAddress, UInt64($0.count), Self.copying)
            }
        }
    }

    /// A value of the present row. SQLite makes an integer of a number with a fraction.
    private func value(at column: Int32) throws -> SQLValue {
        switch sqlite3_column_type(statement, column) {
        case SQLITE_NULL: return .null
        case SQLITE_INTEGER, SQLITE_FLOAT: return .integer(sqlite3_column_int64(statement, column))
        case SQLITE_TEXT:
            guard let text = sqlite3_column_text(statement, column) else {
                throw SQLiteError(connection)
            }
            let count = Int(sqlite3_column_bytes(statement, column))
            return .text(
                String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self))
        default:
            guard let bytes = sqlite3_column_blob(statement, column) else { return .bytes(Data()) }
            return .bytes(Data(bytes: bytes, count: Int(sqlite3_column_bytes(statement, column))))
        }
    }
}
#endif
