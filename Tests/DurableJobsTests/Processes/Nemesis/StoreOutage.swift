#if DurableJobs && JOB_FAULTS
import OperationsTestSupport

@testable import DurableJobs

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

#if DurableJobsPostgres
@testable import DurableJobsPostgres
#endif

/// A time in which no process of a round can write to the store.
///
/// The sleeps are part of the fault.
enum StoreOutage {
    static func strike(_ store: String, for time: Duration) async throws {
        #if DurableJobsPostgres
        if store.hasPrefix("postgres:") { return try await refuse(store, for: time) }
        #endif
        try await onThread {
            Result {
                let program = try ProgramConnection(store)
                try program.write { _ in _ = usleep(UInt32(time.milliseconds * 1_000)) }
            }
        }.get()
    }

    #if DurableJobsPostgres
    /// Ends all connections, and lets the server refuse new ones.
    private static func refuse(_ store: String, for time: Duration) async throws {
        let name = store.prefix { $0 != "?" }.split(separator: "/").last ?? ""
        let administration = PostgresLink(
            try PostgresTarget(PostgresCluster.url("postgres")), label: "outages")
        func execute(_ statement: String) async throws {
            try await administration.perform { try PostgresSession($0).execute(statement) }
        }
        try await execute("ALTER DATABASE \(name) ALLOW_CONNECTIONS false")
        // A connection that began before may not be in the list yet.
        let end = ContinuousClock.now + time
        while ContinuousClock.now < end {
            try await execute(
                "DO $$ BEGIN PERFORM pg_terminate_backend(pid) FROM pg_stat_activity"
                    + " WHERE datname = '\(name)'; END $$")
            try await Task.sleep(for: .milliseconds(100))
        }
        try await execute("ALTER DATABASE \(name) ALLOW_CONNECTIONS true")
        await administration.close()
    }
    #endif
}
#endif
