#if DurableJobsPostgres
import DurableJobs
import Operations

/// What tells one database from all others, also those of the same name on other servers.
struct PostgresIdentity: Sendable {
    /// The name and the number of the database.
    private let database: SQLValue
    /// The number that a server gets with its data folder, and that its standby servers share; null
    /// if the role may not read it.
    private let system: SQLValue

    /// The server checks the right to call a function also if a condition leaves out the call; so
    /// the call is in a text, which is executed only if the role has the right.
    private static let here = """
        WITH here AS (
            SELECT datname || ' ' || oid::TEXT AS database,
                CASE WHEN has_function_privilege('pg_control_system()', 'EXECUTE')
                    THEN query_to_xml(
                        'SELECT system_identifier FROM pg_control_system()', false, false, ''
                    )::TEXT END AS system
            FROM pg_database WHERE datname = current_database())
        """

    init(_ session: any SQLSession) throws {
        let row = try session.query("\(Self.here) SELECT database, system FROM here").first
        (database, system) = (row?.values[0] ?? .null, row?.values[1] ?? .null)
    }

    /// Notifies the workers of a queue when the transaction is committed, if this is its database.
    ///
    /// One statement, because the program waits for it. The server sends one notification for any
    /// number of these in a transaction.
    ///
    /// - Returns: whether this is the database of the session.
    func notify(_ queue: String, _ session: any SQLSession) throws -> Bool {
        try session.query(
            """
            \(Self.here)
            SELECT CASE WHEN database = CAST(? AS TEXT) AND COALESCE(system = CAST(? AS TEXT), TRUE)
                THEN pg_notify(CAST(? AS TEXT), CAST(? AS TEXT))::TEXT END IS NOT NULL
            FROM here
            """, [database, system, .text(PostgresNotifier.channel), .text(queue)]
        ).first?.flag(0) == true
    }
}
#endif
