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
            try await PostgresDatabase(url, schema: schema, extension: $0)
        } version: {
            try await PostgresDatabase.schemaVersion(url, schema: schema)
        }
    }

    /// The statements that make the tables, or migrate those of an older version of the library,
    /// for a tool that changes databases; the names of the tables have no schema.
    ///
    /// Tables that exist get their new indexes outside of a transaction, so that programs can write
    /// meanwhile: let the tool begin none. If it is interrupted, it may begin again. The statement
    /// that makes the function `durable_job_enqueue` has semicolons between two `$$`.
    ///
    /// - Parameter version: that of the tables, as `schemaVersion()` says; 0 if there are none.
    public static func postgresMigration(from version: Int = 0) -> String {
        PostgresMigration.text(from: version)
    }

    /// As the static method, with the tables of what this place has besides jobs, such as those of
    /// `withFiles()`. If they exist, the statements leave them as they are.
    ///
    /// - Parameter version: that of the tables of jobs, as `schemaVersion()` says; 0 if there are
    ///   none.
    public func postgresMigration(from version: Int = 0) -> String {
        PostgresMigration.text(from: version, extension: `extension`?.schema)
    }
}
#endif
