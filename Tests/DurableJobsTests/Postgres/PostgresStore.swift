#if DurableJobsPostgres
import DurableJobs
import OperationsTestSupport

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import DurableJobsPostgres

/// Makes an empty database, calls a function with its URL, and drops the database.
///
/// - Parameter options: of `CREATE DATABASE`.
func withDatabase<Result>(
    _ options: String = "", _ body: (String) async throws -> Result
) async throws -> Result {
    let name = "jobs_\(UUID().uuidString.prefix(8).lowercased())"
    let administration = PostgresLink(
        try PostgresTarget(PostgresCluster.url("postgres")), label: "administration")
    try await administration.perform {
        try PostgresSession($0).execute("CREATE DATABASE \(name) \(options)")
    }
    let result: Swift.Result<Result, any Error>
    do {
        result = .success(try await body(PostgresCluster.url(name)))
    } catch {
        result = .failure(error)
    }
    try await administration.perform {
        try PostgresSession($0).execute("DROP DATABASE \(name) WITH (FORCE)")
    }
    await administration.close()
    return try result.get()
}
#endif
