#if DurableJobs
import CDurableJobsSQLite

/// What SQLite could not do.
struct SQLiteError: Error, CustomStringConvertible {
    /// SQLite's extended code.
    let code: Int32
    let message: String

    init(code: Int32, message: String) { (self.code, self.message) = (code, message) }

    /// The error of the last call on a connection.
    init(_ connection: OpaquePointer?) {
        self.init(
            code: sqlite3_extended_errcode(connection),
            message: String(cString: sqlite3_errmsg(connection)))
    }

    /// The group to which the extended code belongs.
    var primaryCode: Int32 { code & 0xff }

    /// The reason for people.
    var description: String {
        switch primaryCode {
        case SQLITE_NOTADB: "the file is not a SQLite database"
        case SQLITE_CANTOPEN: "the file cannot be opened; its folder must exist and be writable"
        case SQLITE_READONLY: "the file or its folder is read-only"
        case SQLITE_FULL: "the disk is full"
        default: "\(message) (SQLite's code \(code))"
        }
    }

    /// The error of a transaction.
    func jobError(_ store: String) -> JobError {
        switch primaryCode {
        case SQLITE_BUSY, SQLITE_LOCKED: .locked(store: store, reason: description)
        case SQLITE_TOOBIG, SQLITE_CONSTRAINT, SQLITE_MISMATCH:
            .refused(store: store, reason: description)
        case SQLITE_ERROR, SQLITE_NOTADB, SQLITE_CORRUPT, SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH:
            .unusableStore(store: store, reason: description)
        default: .unavailableStore(store: store, reason: description)
        }
    }
}
#endif
