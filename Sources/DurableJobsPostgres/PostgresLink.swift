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

/// In a type with a method `close`, the function of the system has no name.
private func closeDescriptor(_ descriptor: Int32) { _ = close(descriptor) }

/// One connection to a server, and the thread that uses it. Connects when it is needed, and again
/// when the connection was lost.
///
/// A link may also listen for notifications. It receives them between its transactions, and while
/// it has nothing to do. As long as it listens, it connects again a second after it lost its
/// connection.
final class PostgresLink: @unchecked Sendable {
    // Unchecked: the variables are used on `thread` only.

    /// What to listen for, and whom to tell.
    private struct Listening {
        let channel: String
        /// Gets the texts of notifications; nil after a new connection was made, because
        /// notifications may have been lost before.
        let received: @Sendable (Set<String>?) -> Void
    }

    private let target: PostgresTarget
    private let thread: DispatchQueue
    private var connection: OpaquePointer?
    private var listening: Listening?
    /// Tells of data on the connection of a link that listens.
    private var source: (any DispatchSourceRead)?
    private var lastUse = ContinuousClock.now
    private var isIdleCheckScheduled = false
    private var isConnectScheduled = false
    /// Nil if the connections turned out to be shared by a pooler that does not look after them.
    private var statements: PreparedStatements? = PreparedStatements()
    private let isOpen = Locked(true)

    init(_ target: PostgresTarget, label: String) {
        self.target = target
        thread = DispatchQueue(label: "DurableJobs.postgres.\(label)")
    }

    deinit { disconnect() }

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
            thread.async { [self] in
                continuation.resume(with: Swift.Result { try body() })
                wasUsed()
            }
        }
    }

    /// Calls a function later, with nil if the server cannot be reached by then.
    func soon(after time: Duration, _ body: @escaping @Sendable (OpaquePointer?) -> Void) {
        thread.asyncAfter(deadline: .now() + .milliseconds(Int(time.milliseconds))) { [self] in
            body(try? connected())
            wasUsed()
        }
    }

    func close() async {
        await withCheckedContinuation { continuation in
            thread.async { [self] in
                isOpen.withLock { $0 = false }
                listening = nil
                disconnect()
                continuation.resume()
            }
        }
    }

    // MARK: The connection

    private func connected() throws -> OpaquePointer {
        guard isOpen.withLock({ $0 }) else { throw JobError.closed }
        // A server that ends a connection sends a message, which is read first, and then the end. A
        // failed transaction may have left the connection in one.
        if let connection, PQconsumeInput(connection) == 1, PQconsumeInput(connection) == 1,
            !isLost, PQtransactionStatus(connection) == PQTRANS_IDLE
        {
            return connection
        }
        disconnect()
        do {
            let new = try target.connect()
            connection = new
            listen()
            return new
        } catch {
            // No event of the lost connection follows.
            connectLater()
            throw error
        }
    }

    /// Gives the connection up; a new one may be made at once.
    private func disconnect() {
        source?.cancel()
        if let connection { PQfinish(connection) }
        (source, connection) = (nil, nil)
        if statements != nil { statements = PreparedStatements() }
    }

    /// Closes the connection once nothing has used it for a time. The next transaction makes a new
    /// one.
    func closeWhenIdle(for time: Duration) {
        thread.async { [self] in
            guard !isIdleCheckScheduled else { return }
            isIdleCheckScheduled = true
            checkIdle(for: time, after: time)
        }
    }

    private func checkIdle(for time: Duration, after wait: Duration) {
        // Weak, because a link that is released needs no check.
        thread.asyncAfter(deadline: .now() + .milliseconds(Int(wait.milliseconds))) { [weak self] in
            guard let self else { return }
            let rest = lastUse + time - .now
            guard rest <= .zero else {
                return checkIdle(for: time, after: rest + .milliseconds(1))
            }
            isIdleCheckScheduled = false
            disconnect()
        }
    }

    /// The link's thread has used the connection, which may have read notifications meanwhile.
    private func wasUsed() {
        lastUse = .now
        tellNotifications()
    }

    // MARK: Notifications

    /// Listens on a channel from now on, and connects for it.
    ///
    /// - Parameter received: gets the texts of notifications, or nil after a connection was made.
    ///   Called on the link's thread.
    func listen(to channel: String, _ received: @escaping @Sendable (Set<String>?) -> Void) {
        thread.async { [self] in
            listening = Listening(channel: channel, received: received)
            if connection != nil { listen() } else { connectToListen() }
        }
    }

    /// Asks the server for notifications on a new connection. A failure does not keep others from
    /// using the connection.
    private func listen() {
        guard let listening, let connection, source == nil else { return }
        do {
            try PostgresSession(connection).execute("LISTEN \(listening.channel)")
        } catch {
            return connectLater()
        }
        // A descriptor must not be closed before its source has ended, and libpq closes the
        // connection's when the connection is lost: so the source has a duplicate.
        let descriptor = fcntl(PQsocket(connection), F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0 else { return connectLater() }
        let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: thread)
        source.setEventHandler { [weak self] in self?.receive() }
        source.setCancelHandler { closeDescriptor(descriptor) }
        self.source = source
        source.activate()
        listening.received(nil)
    }

    private func connectToListen() {
        // A failure has scheduled the next attempt.
        guard (try? connected()) != nil else { return }
        // The connection may be one on which the server refused to listen.
        listen()
    }

    /// Connects again in a second if the link listens.
    private func connectLater() {
        guard listening != nil, !isConnectScheduled else { return }
        isConnectScheduled = true
        thread.asyncAfter(deadline: .now() + .seconds(1)) { [weak self] in
            self?.isConnectScheduled = false
            self?.connectToListen()
        }
    }

    /// Data have arrived while nothing used the connection.
    private func receive() {
        guard let connection else { return }
        // The last message of a server and the end of the connection may be one event of Dispatch,
        // after which no other follows. The first call reads the message, the second one the end.
        guard PQconsumeInput(connection) == 1, PQconsumeInput(connection) == 1 else {
            disconnect()
            return connectLater()
        }
        tellNotifications()
    }

    private func tellNotifications() {
        guard let listening, let connection else { return }
        var texts: Set<String> = []
        while let notification = PQnotifies(connection) {
            texts.insert(String(cString: notification.pointee.extra))
            PQfreemem(notification)
        }
        if !texts.isEmpty { listening.received(texts) }
    }
}
#endif
