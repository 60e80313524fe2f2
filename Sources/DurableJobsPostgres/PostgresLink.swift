#if DurableJobsPostgres
import CDurableJobsLibPQ
import Dispatch
import OperationsRuntime
import DurableJobs
import Operations

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Android)
import Android
#elseif canImport(Darwin)
import Darwin
#endif

/// One connection to a server, and the thread that uses it. Connects when it is needed, and again
/// when the connection was lost.
final class PostgresLink: @unchecked Sendable {
    // Unchecked: `connection` and `statements` are used on `thread` only.

    private let target: PostgresTarget
    private let thread: DispatchQueue
    private var connection: OpaquePointer?
    /// Nil if the connections turned out to be shared by a pooler that does not look after them.
    private var statements: PreparedStatements? = PreparedStatements()
    private let isOpen = Locked(true)

    init(_ target: PostgresTarget, label: String) {
        self.target = target
        thread = DispatchQueue(label: "DurableJobs.postgres.\(label)")
    }

    deinit {
        if let connection { PQfinish(connection) }
    }

    /// Runs a transaction. It is run again, up to ten times, if the server found a deadlock; after
    /// a pause of random length, so that the others of the deadlock are not met again. It is also
    /// run again, once, on a new connection, if the connection turned out to be lost before the
    /// transaction could be committed; and without prepared statements if one is not there.
    func transaction<Result: Sendable>(
        _ beginning: PostgresBeginning,
        _ translations: TranslationCache = PostgresSession.unqualified,
        _ body: @escaping @Sendable (any SQLSession) throws -> Result
    ) async throws -> Result {
        try await onThread { [self] in
            var attempt = 1
            var isReconnected = false
            while true {
                let session = PostgresSession(
                    try connected(), translations, beginning, statements)
                do {
                    let result = try body(session)
                    try session.commit()
                    return result
                } catch let error as PostgresFailure
                    where error.isAboutPreparedStatement && statements != nil
                {
                    try? session.execute("ROLLBACK")
                    statements = nil
                } catch let error as PostgresFailure where error.isTransient && attempt < 10 {
                    try? session.execute("ROLLBACK")
                    usleep(UInt32.random(in: 1_000...10_000) * UInt32(attempt))
                    attempt += 1
                } catch is PostgresFailure
                    where isLost && !session.mayBeCommitted && !isReconnected
                {
                    isReconnected = true
                } catch {
                    try? session.execute("ROLLBACK")
                    throw error
                }
            }
        }
    }

    private var isLost: Bool { PQstatus(connection) != CONNECTION_OK }

    /// Calls a function with the connection, on its thread.
    func perform<Result: Sendable>(
        _ body: @escaping @Sendable (OpaquePointer) throws -> Result
    ) async throws -> Result {
        try await onThread { [self] in try body(connected()) }
    }

    private func onThread<Result: Sendable>(
        _ body: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            thread.async { continuation.resume(with: Swift.Result { try body() }) }
        }
    }

    /// Calls a function later, with nil if the server cannot be reached by then.
    func soon(after time: Duration, _ body: @escaping @Sendable (OpaquePointer?) -> Void) {
        thread.asyncAfter(deadline: .now() + .milliseconds(Int(time.milliseconds))) { [self] in
            body(try? connected())
        }
    }

    func close() async {
        await withCheckedContinuation { continuation in
            thread.async { [self] in
                isOpen.withLock { $0 = false }
                if let connection { PQfinish(connection) }
                connection = nil
                continuation.resume()
            }
        }
    }

    private func connected() throws -> OpaquePointer {
        guard isOpen.withLock({ $0 }) else { throw JobError.closed }
        // A server that ends a connection sends a message, which is read first, and then the end. A
        // failed transaction may have left the connection in one.
        if let connection, PQconsumeInput(connection) == 1, PQconsumeInput(connection) == 1,
            !isLost, PQtransactionStatus(connection) == PQTRANS_IDLE
        {
            return connection
        }
        if let connection { PQfinish(connection) }
        connection = nil
        if statements != nil { statements = PreparedStatements() }
        let new = try target.connect()
        connection = new
        return new
    }
}
#endif
