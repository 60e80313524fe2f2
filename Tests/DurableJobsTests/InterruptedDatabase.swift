#if DurableJobs
import DurableJobs
import OperationsRuntime

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// A database that can be made unreachable, as in an outage.
final class InterruptedDatabase: JobDatabase {
    private let database: any JobDatabase
    private let isInterrupted = Locked(false)

    init(_ database: any JobDatabase) { self.database = database }

    var description: String { database.description }

    /// Begins an outage, or ends it.
    func interrupt(_ isInterrupted: Bool = true) {
        self.isInterrupted.withLock { $0 = isInterrupted }
    }

    func transaction<Result: Sendable>(
        _ kind: TransactionKind, on lane: TransactionLane,
        _ body: @escaping @Sendable (any SQLSession) throws -> Result
    ) async throws -> Result {
        guard !isInterrupted.withLock({ $0 }) else {
            throw JobError.unavailableStore(store: description, reason: "the server is down")
        }
        return try await database.transaction(kind, on: lane, body)
    }

    func watch(_ queue: String, _ changed: @escaping @Sendable () -> Void) -> any Sendable {
        database.watch(queue, changed)
    }

    func announce(_ queue: String) { database.announce(queue) }

    func statement(
        _ job: NewJob, _ arguments: [Data], isArray: Bool, in queue: String
    ) throws -> JobStatement {
        try database.statement(job, arguments, isArray: isArray, in: queue)
    }

    func close() async { await database.close() }
}
#endif
