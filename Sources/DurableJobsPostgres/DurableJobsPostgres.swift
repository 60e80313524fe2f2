// DurableJobsPostgres: the database of DurableJobs in PostgreSQL, by libpq. The statements are
// those of DurableJobs; this module has the connections and what differs from SQLite.
//
//   JobStorage.postgres      what users write; JobTransaction.postgres
//     │
//   PostgresDatabase         transactions, heartbeats, notifications
//     │
//   PostgresLink             a connection and its thread, which also receives notifications
//     │
//   PostgresSession          statements and results of libpq
//   PostgresTarget           the URL: connecting, and messages without passwords
//
// Without the package's trait `DurableJobsPostgres`, this module contains nothing but the
// declaration below: the compiler's error for a use names the remedy.

#if DurableJobs && !DurableJobsPostgres
public import DurableJobs

extension JobStorage {
    /// Needs the package trait `DurableJobsPostgres` of swift-operations.
    @available(
        *, unavailable,
        message: "enable the package's trait: .package(url: …, traits: [\"DurableJobsPostgres\"])"
    )
    public static func postgres(_ url: String, schema: String? = nil) -> JobStorage {
        .file(url)
    }
}
#endif
