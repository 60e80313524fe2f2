#if DurableJobsPostgres
public import DurableJobs

extension JobStorage {
    /// A PostgreSQL database, version 13 or newer.
    ///
    /// The tables `durable_job…` are made in the first schema of the role's search path. For
    /// several servers of which one is the primary, name all hosts: the library connects to the one
    /// that accepts writes, also after a failover.
    ///
    /// - Parameter url: as libpq takes it, such as `postgres:///photos` or
    ///   `postgres://user@db1,db2/photos`. Leave the password to `~/.pgpass`: other users of the
    ///   machine may see arguments of programs. The library's messages do not contain it.
    public static func postgres(_ url: String) -> JobStorage {
        JobStorage((try? PostgresTarget(url).description) ?? "the PostgreSQL URL") {
            try await PostgresDatabase(url)
        }
    }
}

extension JobQueue {
    /// Stores a job in a transaction of the caller's own on the same database, so that the job
    /// exists if and only if the transaction is committed.
    ///
    /// Workers see the job at their next look, after at most a second.
    ///
    /// - Parameters:
    ///   - job: the work and its arguments.
    ///   - traits: further settings of the job.
    ///   - dependencies: jobs that must end before.
    ///   - connection: a `PGconn` of libpq, in a transaction, used by no other thread meanwhile.
    /// - Throws: `JobError` if the job is refused, or an error of the connection.
    @discardableResult
    public func enqueue<J: Job>(
        _ job: J, _ traits: JobTrait..., after dependencies: any JobReference...,
        in connection: OpaquePointer
    ) throws -> JobHandle<J.Output> {
        let new = try newJob(job, JobOptions(traits, of: J.self), after: dependencies)
        return handle(of: J.self, id: try enqueue(new, PostgresSession(connection)))
    }
}
#endif
