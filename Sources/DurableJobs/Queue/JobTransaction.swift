#if DurableJobs
/// An open transaction of the program on a queue's database, in which `enqueue(_:_:after:in:)`
/// stores a job.
///
/// Make the value where you use it: it names the connection that has begun the transaction, and
/// `enqueue` executes statements on that connection, on the thread that calls it.
public struct JobTransaction {
    package typealias Body = (any SQLSession) throws -> JobID

    /// Calls a function with a session of the transaction; throws ``JobError`` if the transaction
    /// is not one on this database.
    package let perform: (any JobDatabase, Body) throws -> JobID

    package init(_ perform: @escaping (any JobDatabase, Body) throws -> JobID) {
        self.perform = perform
    }
}
#endif
