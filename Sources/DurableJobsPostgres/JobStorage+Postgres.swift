#if DurableJobsPostgres
public import DurableJobs

extension JobStorage {
    /// A PostgreSQL database, version 13 or newer.
    ///
    /// The tables `durable_job…` are made when a program opens the first queue. If they exist, in
    /// the version of the library, the role needs no right but to read and write them. For several
    /// servers of which one is the primary, name all hosts: the library connects to the one that
    /// accepts writes, also after a failover.
    ///
    /// - Parameters:
    ///   - url: as libpq takes it, such as `postgres:///photos` or
    ///     `postgres://user@db1,db2/photos`. Leave the password to `~/.pgpass`: other users of the
    ///     machine may see arguments of programs. The library's messages do not contain it.
    ///   - schema: the schema of the tables, which is made if it does not exist; nil for the first
    ///     one of the role's search path that has the tables, or else the first one.
    public static func postgres(_ url: String, schema: String? = nil) -> JobStorage {
        JobStorage((try? PostgresTarget(url).description) ?? "the PostgreSQL URL") {
            try await PostgresDatabase(url, schema: schema)
        } version: {
            try await PostgresDatabase.schemaVersion(url, schema: schema)
        }
    }

    /// The statements that make the tables, or migrate those of an older version of the library,
    /// for a tool that changes databases; the names of the tables have no schema.
    ///
    /// - Parameter version: that of the tables, as `schemaVersion()` says; 0 if there are none.
    public static func postgresMigration(from version: Int = 0) -> String {
        let dialect = PostgresSession.dialect(schema: nil)
        let statements = JobSchema.statements(from: max(0, version)).map {
            "\(dialect.translate($0));\n"
        }
        return statements.isEmpty ? "" : "BEGIN;\n\(statements.joined())COMMIT;\n"
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
        try enqueue(job, traits, after: dependencies, in: connection)
    }

    /// Stores a job that depends on any number of jobs, in a transaction of the caller's own.
    @discardableResult
    public func enqueue<J: Job>(
        _ job: J, _ traits: [JobTrait] = [], after dependencies: [any JobReference],
        in connection: OpaquePointer
    ) throws -> JobHandle<J.Output> {
        let new = try newJob(job, JobOptions(traits, of: J.self), after: dependencies)
        let translations = (store.database as? PostgresDatabase)?.translations
        let session = PostgresSession(connection, translations ?? PostgresSession.unqualified)
        return handle(of: J.self, id: try enqueue(new, session))
    }
}
#endif
