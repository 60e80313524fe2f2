#if DurableJobsPostgres
public import DurableJobs

extension JobTransaction {
    /// A transaction on a connection of the program to the queue's PostgreSQL database.
    ///
    /// - Parameter connection: a `PGconn` of libpq, in a transaction, used by no other thread
    ///   meanwhile.
    public static func postgres(_ connection: OpaquePointer) -> JobTransaction {
        JobTransaction { database, body in
            guard let database = database as? PostgresDatabase else {
                throw JobError.wrongTransaction(
                    store: database.description,
                    reason: "the connection is to another database: one of PostgreSQL")
            }
            return try body(PostgresSession(connection, database.translations))
        }
    }
}
#endif
