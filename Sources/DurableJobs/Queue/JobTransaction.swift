#if DurableJobs
/// An open transaction of the program on a queue's database, in which `enqueue(_:_:after:in:)`
/// stores a job.
///
/// Make the value where you use it: it names the connection that has begun the transaction, and
/// `enqueue` executes statements on that connection, on the thread that calls it.
public struct JobTransaction {
    package typealias Body = (any SQLSession) throws -> JobID

    /// Calls a function with a session of the transaction, which then tells the workers of a queue
    /// when it is committed, if the database can; throws ``JobError`` if the transaction is not one
    /// on this database.
    package let perform: (any JobDatabase, _ queue: String, Body) throws -> JobID

    package init(
        _ perform: @escaping (any JobDatabase, _ queue: String, Body) throws -> JobID
    ) {
        self.perform = perform
    }
}
#endif
