#if DurableJobs
import Dispatch
import GRDB
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
    private let connection: DatabaseQueue
    /// Nil for a database in memory, which has one connection.
    private let reader: DatabaseQueue?
    private let thread = DispatchQueue(label: "DurableJobs.sqlite")
    private let readingThread = DispatchQueue(label: "DurableJobs.sqlite.reading")
    private let isOpen = Locked(true)
    private let watch: SQLiteWatch?

    /// Opens or creates a file.
    ///
    /// - Throws: ``JobError`` with the reason.
    package convenience init(path: String) async throws {
        try NetworkFileSystem.refuse(path)
        let connection: DatabaseQueue
        do {
            connection = try await Self.open(path)
        } catch let error as DatabaseError {
            throw JobError.unusableStore(store: path, reason: SQLiteReason.text(error))
        }
        try await self.init(connection, description: path, time: .system, isShared: true)
    }

    /// The path of the file; nil for a database in memory.
    package var path: String? { reader == nil ? nil : description }

    package static func isSameFile(_ a: String, _ b: String) -> Bool {
        var (first, second) = (stat(), stat())
        guard stat(a, &first) == 0, stat(b, &second) == 0 else { return false }
        return first.st_dev == second.st_dev && first.st_ino == second.st_ino
    }

    /// Makes a database in memory, for tests.
    package convenience init(inMemoryWith time: SQLiteTime) async throws {
        try await self.init(
            DatabaseQueue(configuration: Self.configuration),
            description: "the store in memory", time: time, isShared: false)
    }

    private init(
        _ connection: DatabaseQueue, description: String, time: SQLiteTime, isShared: Bool
    ) async throws {
        (self.connection, self.description) = (connection, description)
        watch = isShared ? SQLiteWatch(path: description) : nil
        var reading = Self.configuration
        reading.readonly = true
        do {
            // The file is there, and has its write-ahead log.
            reader =
                isShared ? try DatabaseQueue(path: description, configuration: reading) : nil
            try await perform { [reader] in
                try reader?.read { SQLiteSession.addFunctions(to: $0, time) }
                connection.writeWithoutTransaction { database in
                    SQLiteSession.addFunctions(to: database, time)
                }
                try connection.write {
                    try JobSchema.migrate(SQLiteSession($0), store: description)
                }
            }
        } catch let error as DatabaseError {
            throw JobError.unusableStore(store: description, reason: SQLiteReason.text(error))
        }
    }

    /// The version of a file's tables; 0 if there are none, or no file.
    static func schemaVersion(path: String) throws -> Int {
        try NetworkFileSystem.refuse(path)
        guard FileManager.default.fileExists(atPath: path) else { return 0 }
        var reading = configuration
        reading.readonly = true
        do {
            let reader = try DatabaseQueue(path: path, configuration: reading)
            defer { try? reader.close() }
            return try reader.read { try JobSchema.version(SQLiteSession($0)) }
        } catch let error as DatabaseError {
            throw JobError.unusableStore(store: path, reason: SQLiteReason.text(error))
        }
    }

    /// Opens a file and changes it to a write-ahead log, if it has none.
    ///
    /// Of several connections that change a new file at the same time, SQLite refuses all but one
    /// at once: each holds a shared lock and wants an exclusive one, so that waiting would be a
    /// deadlock, and the busy handler is not called. The others find the change made when they try
    /// again.
    private static func open(_ path: String) async throws -> DatabaseQueue {
        var configuration = configuration
        configuration.journalMode = .wal
        let start = ContinuousClock.now
        while true {
            do {
                return try DatabaseQueue(path: path, configuration: configuration)
            } catch let error as DatabaseError
                where error.resultCode == .SQLITE_BUSY && start.duration(to: .now) < patience
            {
                try await Task.sleep(for: .milliseconds(5))
            }
        }
    }

    /// How long a connection waits for others to end their transactions.
    private static let patience = Duration.seconds(30)

    /// The settings of each connection: it waits for others, and then fails.
    static var configuration: Configuration {
        var configuration = Configuration()
        configuration.label = "DurableJobs"
        // SQLite's own timeout sleeps up to 100 ms between its attempts.
        configuration.busyMode = .callback { attempt in
            guard .microseconds(500) * attempt < patience else { return false }
            Machine.pause()
            return true
        }
        return configuration
    }

    // MARK: Transactions

    package func transaction<Result: Sendable>(
        _ kind: TransactionKind, on lane: TransactionLane,
        _ body: @escaping @Sendable (any SQLSession) throws -> Result
    ) async throws -> Result {
        let isReading = kind == .reading && reader != nil
        return try await perform(on: isReading ? readingThread : thread) { [self] in
            do {
                if let reader, isReading { return try reader.read { try body(SQLiteSession($0)) } }
                return try run(kind, body)
            } catch let error as DatabaseError {
                throw SQLiteReason.error(error, description)
            }
        }
    }

    private func run<Result>(
        _ kind: TransactionKind, _ body: (any SQLSession) throws -> Result
    ) throws -> Result {
        try connection.writeWithoutTransaction { database in
            // GRDB sets NORMAL when it opens a file; see "Durability" in Protocol.md.
            try database.execute(
                sql: kind == .durable
                    ? "PRAGMA synchronous = FULL" : "PRAGMA synchronous = NORMAL")
            var result: Result?
            try database.inTransaction(.immediate) {
                result = try body(SQLiteSession(database))
                return .commit
            }
            guard let result else { throw JobError.closed }
            return result
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
                    readingThread.sync { try? reader?.close() }
                    try? connection.close()
                }
                continuation.resume()
            }
        }
    }
}

/// Why SQLite refuses something, for people.
enum SQLiteReason {
    static func error(_ error: DatabaseError, _ store: String) -> JobError {
        let reason = text(error)
        return switch error.resultCode {
        case .SQLITE_BUSY, .SQLITE_LOCKED: .locked(store: store, reason: reason)
        case .SQLITE_TOOBIG, .SQLITE_CONSTRAINT, .SQLITE_MISMATCH:
            .refused(store: store, reason: reason)
        default: .unusableStore(store: store, reason: reason)
        }
    }

    static func text(_ error: any Error) -> String {
        guard let error = error as? DatabaseError else { return "\(error)" }
        return switch error.resultCode {
        case .SQLITE_NOTADB: "the file is not a SQLite database"
        case .SQLITE_CANTOPEN: "the file cannot be opened; its folder must exist and be writable"
        case .SQLITE_READONLY: "the file or its folder is read-only"
        case .SQLITE_FULL: "the disk is full"
        default: error.message ?? "\(error)"
        }
    }
}
#endif
