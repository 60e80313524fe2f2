#if DurableJobs
extension JobTransaction {
    /// A transaction on a connection of the program to the queue's SQLite file.
    ///
    /// Libraries for SQLite hand out its connection: GRDB as `db.sqliteConnection`, SQLite.swift as
    /// `connection.handle`. The library must use the SQLite of the system, as GRDB does unless you
    /// choose another one: a connection of another copy of SQLite cannot be used.
    ///
    /// - Parameter connection: a `sqlite3`, in a transaction, used by no other thread meanwhile.
    public static func sqlite(_ connection: OpaquePointer?) -> JobTransaction {
        JobTransaction { database, _, body in
            do {
                let connection = try borrow(connection, database)
                try SQLiteSession.addFunctions(to: connection, .system)
                return try body(SQLiteSession(connection))
            } catch let error as SQLiteError {
                throw error.jobError(database.description)
            }
        }
    }

    /// Refuses a connection to another file, in which nobody would find the job.
    private static func borrow(
        _ pointer: OpaquePointer?, _ database: any JobDatabase
    ) throws -> SQLiteConnection {
        func refusal(_ reason: String) -> JobError {
            .wrongTransaction(store: database.description, reason: reason)
        }
        guard let pointer else { throw refusal("the connection of the transaction is closed") }
        let connection = SQLiteConnection(borrowing: pointer)
        guard connection.isInTransaction else {
            throw refusal("the connection has no open transaction: begin it before `enqueue(in:)`")
        }
        let file = connection.file
        guard let file, let path = (database as? SQLiteDatabase)?.path,
            SQLiteDatabase.isSameFile(file, path)
        else {
            throw refusal("the connection is to another database: \(file ?? "one in memory")")
        }
        return connection
    }
}
#endif
