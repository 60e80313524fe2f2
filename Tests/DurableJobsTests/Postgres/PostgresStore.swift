#if DurableJobsPostgres
import DurableJobs
import OperationsTestSupport

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import DurableJobsPostgres

/// The statements of a text, of which some have a body between two `$$`.
func statements(of text: String) -> [String] {
    var statements: [String] = []
    var isInBody = false
    for part in text.split(separator: ";\n").map(String.init) {
        if isInBody {
            statements[statements.count - 1] += ";\n\(part)"
        } else {
            statements.append(part)
        }
        // Each `$$` begins or ends a body.
        let pieces = part.split(separator: "$$", omittingEmptySubsequences: false)
        if pieces.count % 2 == 0 { isInBody.toggle() }
    }
    return statements
}

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
