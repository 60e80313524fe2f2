#if DurableJobs
/// An open transaction of the program on a queue's database, in which `enqueue(_:_:after:in:)`
/// stores a job, and ``JobContext/complete(_:in:)`` ends one.
///
/// Make the value where you use it: it names the connection that has begun the transaction, and
/// the call executes statements on that connection, on its own thread.
public struct JobTransaction {
    package typealias Body = (any SQLSession) throws -> Void

    /// Calls a function, once, with a session of the transaction, which then tells the workers of a
    /// queue when it is committed, if the database can; throws ``JobError`` if the transaction is
    /// not one on this database.
    private let body: (any JobDatabase, _ queue: String, Body) throws -> Void

    package init(
        _ body: @escaping (any JobDatabase, _ queue: String, Body) throws -> Void
    ) {
        self.body = body
    }

    /// Calls a function with a session of the transaction, and returns its result.
    package func perform<Result>(
        _ database: any JobDatabase, _ queue: String, _ body: (any SQLSession) throws -> Result
    ) throws -> Result {
        var result: Result?
        try self.body(database, queue) { result = try body($0) }
        guard let result else { fatalError("unreachable: the function was called, or has thrown") }
        return result
    }
}
#endif
