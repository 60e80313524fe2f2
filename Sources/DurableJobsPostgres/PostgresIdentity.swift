#if DurableJobsPostgres
import DurableJobs
import Operations

/// What tells one database from all others, also those of the same name on other servers.
struct PostgresIdentity: Sendable {
    /// The name and the number of the database.
    private let database: [SQLValue]
    /// The number that a server gets with its data folder, and that its standby servers share; nil
    /// if the role may not read it.
    private let system: SQLValue?

    init(_ session: any SQLSession) throws {
        let row = try session.query(
            """
            SELECT datname::TEXT, oid::BIGINT,
                has_function_privilege('pg_control_system()', 'EXECUTE')::INT::BIGINT
            FROM pg_database WHERE datname = current_database()
            """
        ).first
        database = Array(row?.values.prefix(2) ?? [])
        // The server checks the right also if a condition leaves out the call.
        system =
            row?.flag(2) == true
            ? try session.query("SELECT system_identifier::TEXT FROM pg_control_system()").first?
                .values.first : nil
    }

    func isSame(as other: PostgresIdentity) -> Bool {
        guard let system, let otherSystem = other.system else { return database == other.database }
        return database == other.database && system == otherSystem
    }
}
#endif
