#if DurableJobsPostgres
import CDurableJobsLibPQ
public import DurableJobs

extension JobTransaction {
    /// A transaction on a connection of the program to the queue's PostgreSQL database.
    ///
    /// `enqueue` throws `JobError.wrongTransaction` for a connection to another database, and for
    /// one without an open transaction. Nobody would find the job, or the job would be stored
    /// without the changes to which it belongs.
    ///
    /// - Parameter connection: a `PGconn` of libpq, in a transaction, used by no other thread
    ///   meanwhile.
    public static func postgres(_ connection: OpaquePointer) -> JobTransaction {
        JobTransaction { database, queue, body in
            func refusal(_ reason: String) -> JobError {
                .wrongTransaction(store: database.description, reason: reason)
            }
            guard let database = database as? PostgresDatabase else {
                throw refusal("the connection is to another database: one of PostgreSQL")
            }
            if let reason = refusalReason(PQtransactionStatus(connection)) { throw refusal(reason) }
            do {
                let session = PostgresSession(connection, database.translations)
                guard try database.identity.notify(queue, session) else {
                    throw refusal("the connection is to another database: \(name(of: connection))")
                }
                return try body(session)
            } catch let error as PostgresFailure {
                throw PostgresDatabase.error(error, database.description)
            }
        }
    }

    /// Returns why a connection in this status cannot be used; nil if it can.
    private static func refusalReason(_ status: PGTransactionStatusType) -> String? {
        switch status {
        case PQTRANS_INTRANS: nil
        case PQTRANS_IDLE:
            "the connection has no open transaction: begin it before `enqueue(in:)`"
        case PQTRANS_INERROR: "the transaction of the connection has failed: roll it back"
        case PQTRANS_ACTIVE: "the connection executes another statement: read its result first"
        default: "the connection is lost"
        }
    }

    private static func name(of connection: OpaquePointer) -> String {
        func text(_ value: UnsafeMutablePointer<CChar>?) -> String {
            value.map { String(cString: $0) } ?? ""
        }
        let server = "\(text(PQhost(connection))):\(text(PQport(connection)))"
        return "\(text(PQdb(connection))) on \(server)"
    }
}
#endif
