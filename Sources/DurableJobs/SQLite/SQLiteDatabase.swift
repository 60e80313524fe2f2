#if DurableJobs
import CDurableJobsSQLite
import Dispatch
import OperationsRuntime
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

/// The two clocks of a SQLite store. In tests both are a test's own.
package struct SQLiteTime: Sendable {
    /// Milliseconds since 1970.
    package let wall: @Sendable () -> Int64
    /// Milliseconds since the start of the machine, also while the machine sleeps.
    package let sinceBoot: @Sendable () -> Int64
    /// Identifies that start.
    package let boot: String

    package init(
        wall: @escaping @Sendable () -> Int64, sinceBoot: @escaping @Sendable () -> Int64,
        boot: String
    ) {
        (self.wall, self.sinceBoot, self.boot) = (wall, sinceBoot, boot)
    }

    static let system = SQLiteTime(
        wall: { Int64(Date().timeIntervalSince1970 * 1000) },
        sinceBoot: { Machine.timeSinceBoot.milliseconds }, boot: Machine.boot)
}

/// The database in a SQLite file, or in memory.
///
/// One connection serves all transactions of the process that write, on a thread of its own, and
/// another one those that only read: in a write-ahead log, neither waits for the other.
package final class SQLiteDatabase: JobDatabase {
    package let description: String
    private let connection: SQLiteConnection
    /// Nil for a database in memory, which has one connection.
    private let reader: SQLiteConnection?
    private let thread = DispatchQueue(label: "DurableJobs.sqlite")
    private let readingThread = DispatchQueue(label: "DurableJobs.sqlite.reading")
    private let isOpen = Locked(true)
    private let watch: SQLiteWatch?

    /// Opens or creates a file.
    ///
    /// - Throws: ``JobError`` with the reason.
    package convenience init(path: String, extension: ExtensionSchema? = nil) async throws {
        try NetworkFileSystem.refuse(path)
        try await self.init(
            Self.explaining(path) { try await Self.open(path) }, description: path, time: .system,
            isShared: true, `extension`)
    }

    /// The path of the file; nil for a database in memory.
    package var path: String? { reader == nil ? nil : description }

    package static func isSameFile(_ a: String, _ b: String) -> Bool {
        var (first, second) = (stat(), stat())
        guard stat(a, &first) == 0, stat(b, &second) == 0 else { return false }
        return first.st_dev == second.st_dev && first.st_ino == second.st_ino
    }

    /// Makes a database in memory, for tests.
    package convenience init(
        inMemoryWith time: SQLiteTime, extension: ExtensionSchema? = nil
    ) async throws {
        try await self.init(
            SQLiteConnection(), description: "the store in memory", time: time, isShared: false,
            `extension`)
    }

    private init(
        _ connection: SQLiteConnection, description: String, time: SQLiteTime, isShared: Bool,
        _ extension: ExtensionSchema?
    ) async throws {
        (self.connection, self.description) = (connection, description)
        watch = isShared ? SQLiteWatch(path: description) : nil
        // The file is there, and has its write-ahead log.
        reader = try await Self.explaining(description) {
            isShared ? try SQLiteConnection(path: description, isReadOnly: true) : nil
        }
        try await Self.explaining(description) {
            try await perform { [reader] in
                if let reader { try SQLiteSession.addFunctions(to: reader, time) }
                try SQLiteSession.addFunctions(to: connection, time)
                try connection.transaction("BEGIN IMMEDIATE") {
                    let session = SQLiteSession(connection)
                    try JobSchema.migrate(session, store: description)
                    try JobSchema.prepare(`extension`, session, store: description)
                }
            }
        }
    }

    /// The version of a file's tables; 0 if there are none, or no file.
    static func schemaVersion(path: String) async throws -> Int {
        try NetworkFileSystem.refuse(path)
        guard FileManager.default.fileExists(atPath: path) else { return 0 }
        return try await explaining(path) {
            let reader = try SQLiteConnection(path: path, isReadOnly: true)
            return try reader.transaction("BEGIN") { try JobSchema.version(SQLiteSession(reader)) }
        }
    }

    /// Calls a function that opens a store, and describes its failures for people.
    private static func explaining<Result>(
        _ store: String, _ body: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await body()
        } catch let error as SQLiteError {
            throw error.jobError(store)
        }
    }

    /// Opens a file and changes it to a write-ahead log, if it has none.
    ///
    /// Of several connections that change a new file at the same time, SQLite refuses all but one
    /// at once: each holds a shared lock and wants an exclusive one, so that waiting would be a
    /// deadlock, and the busy handler is not called. The others find the change made when they try
    /// again.
    private static func open(_ path: String) async throws -> SQLiteConnection {
        let start = ContinuousClock.now
        while true {
            do {
                let connection = try SQLiteConnection(path: path)
                let mode = try connection.statement("PRAGMA journal_mode = WAL").rows([])
                guard mode.first?.text(0) == "wal" else {
                    throw SQLiteError(
                        code: SQLITE_ERROR, message: "the file cannot have a write-ahead log")
                }
                return connection
            } catch let error as SQLiteError
                where error.primaryCode == SQLITE_BUSY
                && start.duration(to: .now) < SQLiteConnection.patience
            {
                try await Task.sleep(for: .milliseconds(5))
            }
        }
    }

    // MARK: Transactions

    package func transaction<Result: Sendable>(
        _ kind: TransactionKind, on lane: TransactionLane,
        _ body: @escaping @Sendable (any SQLSession) throws -> Result
    ) async throws -> Result {
        let isReading = kind == .reading && reader != nil
        return try await perform(on: isReading ? readingThread : thread) { [self] in
            do {
                if let reader, isReading {
                    return try reader.transaction("BEGIN") { try body(SQLiteSession(reader)) }
                }
                // See "Durability" in Protocol.md.
                try connection.execute(
                    kind == .durable ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL")
                return try connection.transaction("BEGIN IMMEDIATE") {
                    try body(SQLiteSession(connection))
                }
            } catch let error as SQLiteError {
                throw error.jobError(description)
            }
        }
    }

    private func perform<Result: Sendable>(
        on thread: DispatchQueue? = nil, _ work: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        let thread = thread ?? self.thread
        return try await withCheckedThrowingContinuation { continuation in
            thread.async { [self] in
                guard isOpen.withLock({ $0 }) else {
                    return continuation.resume(throwing: JobError.closed)
                }
                continuation.resume(with: Swift.Result { try work() })
            }
        }
    }

    // MARK: Notifications

    package func watch(
        _ queue: String, _ changed: @escaping @Sendable () -> Void
    ) -> any Sendable {
        watch?.add(changed) ?? ()
    }

    /// Nothing to do: the file's version number changes with each transaction.
    package func announce(_ queue: String) {}

    package func close() async {
        await watch?.end()
        await withCheckedContinuation { continuation in
            thread.async { [self] in
                if isOpen.withLock({ isOpen in
                    defer { isOpen = false }
                    return isOpen
                }) {
                    readingThread.sync { reader?.close() }
                    connection.close()
                }
                continuation.resume()
            }
        }
    }
}
#endif
