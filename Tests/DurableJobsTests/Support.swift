#if DurableJobs
import OperationsRuntime
import DurableJobs
import Operations
import OperationsTestSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

#if DurableJobsPostgres
import DurableJobsPostgres
#endif

/// The stores that the contract tests run against.
enum StoreKind: String, CaseIterable, Sendable, CustomTestStringConvertible {
    case file
    #if DurableJobsPostgres
    case postgres
    #endif

    var testDescription: String { rawValue }
}

/// Makes a folder, calls a function, and deletes the folder.
func withFolder<Result>(_ body: (String) async throws -> Result) async throws -> Result {
    let folder = FileManager.default.temporaryDirectory
        .appending(component: "jobs-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    return try await body(folder)
}

/// Makes an empty place for a store, calls a function with it, and deletes the place.
func withStorage(_ kind: StoreKind, _ body: (JobStorage) async throws -> Void) async throws {
    switch kind {
    case .file: try await withFolder { try await body(.file("\($0)/jobs.sqlite")) }
    #if DurableJobsPostgres
    case .postgres: try await withDatabase { try await body(.postgres($0)) }
    #endif
    }
}

/// Opens a new store, calls a function with a queue of it, and closes the store.
func withQueue(_ kind: StoreKind, _ body: (JobQueue) async throws -> Void) async throws {
    try await withStorage(kind) { try await closing(try await JobQueue("tests", in: $0), body) }
}

func closing(_ queue: JobQueue, _ body: (JobQueue) async throws -> Void) async throws {
    do {
        try await body(queue)
    } catch {
        await queue.close()
        throw error
    }
    await queue.close()
}

/// Runs a worker while a function runs.
func withWorker<Result>(
    _ queue: JobQueue, _ types: [any Job.Type], width: Int = 4,
    options: JobWorker.Options = testOptions, _ body: (JobWorker) async throws -> Result
) async throws -> Result {
    let operations = OperationQueue()
    operations.maxConcurrentOperationCount = width
    let worker = JobWorker(queue, performing: types, on: operations, options: options)
    let run = Task { try await worker.run() }
    do {
        let result = try await body(worker)
        worker.stop(gracePeriod: .zero)
        try await run.value
        return result
    } catch {
        worker.stop(gracePeriod: .zero)
        try await run.value
        throw error
    }
}

let testOptions: JobWorker.Options = {
    var options = JobWorker.Options()
    options.lease = .seconds(3)
    return options
}()

/// Values that jobs of this process share with their test, by a name that the test makes up.
enum Board {
    private static let counts = Locked<[String: Int]>([:])
    private static let lines = Locked<[String: [String]]>([:])
    private static let signals = Locked<[String: Signal]>([:])

    static func newName() -> String { UUID().uuidString }

    /// Adds 1 to a count, and returns it.
    @discardableResult
    static func count(_ name: String) -> Int {
        counts.withLock { counts in
            counts[name, default: 0] += 1
            return counts[name] ?? 0
        }
    }

    static func value(_ name: String) -> Int { counts.withLock { $0[name] ?? 0 } }

    static func write(_ line: String, to name: String) {
        lines.withLock { $0[name, default: []].append(line) }
    }

    static func read(_ name: String) -> [String] { lines.withLock { $0[name] ?? [] } }

    static func signal(_ name: String) -> Signal {
        signals.withLock { signals in
            let signal = signals[name] ?? Signal()
            signals[name] = signal
            return signal
        }
    }
}

// MARK: Jobs of the tests

/// Returns its text.
struct Echo: Job {
    static let name = "echo"
    var text: String

    func perform(in context: JobContext) async throws -> String { text }
}

/// Fails a number of times, and then returns the number of its attempts.
struct Flaky: Job {
    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    static let name = "flaky"
    var board = Board.newName()
    var failures: Int

    func perform(in context: JobContext) async throws -> Int {
        let attempt = Board.count(board)
        if attempt <= failures { throw Failure(description: "failure \(attempt)") }
        return attempt
    }
}

/// Joins the results of other jobs.
struct Join: Job {
    static let name = "join"
    var parts: [JobHandle<String>]

    func perform(in context: JobContext) async throws -> String {
        var texts: [String] = []
        for part in parts { texts.append(try await context.value(of: part)) }
        return texts.joined(separator: " ")
    }
}

/// Writes a line to the board.
struct Note: Job {
    static let name = "note"
    var board: String
    var line: String

    func perform(in context: JobContext) async throws -> NoOutput {
        Board.write(line, to: board)
        return NoOutput()
    }
}

/// Announces its start, and waits for a signal or its cancellation.
struct Wait: Job {
    static let name = "wait"
    var board = Board.newName()

    func perform(in context: JobContext) async throws -> Int {
        Board.count(board)
        Board.signal("\(board) started").send()
        try await withTaskCancellationHandler {
            guard await Board.signal("\(board) go on").arrives() else {
                throw PermanentFailure("nobody sent the signal")
            }
            try Task.checkCancellation()
        } onCancel: {
            Board.signal("\(board) go on").send()
        }
        return context.attempt
    }

    var hasStarted: Bool {
        get async { await Board.signal("\(board) started").arrives() }
    }

    func goOn() { Board.signal("\(board) go on").send() }
}

/// A session that lets a test look at each insertion of jobs before it happens.
final class WatchedSession: SQLSession {
    private let session: any SQLSession
    private let mayInsert: ([[SQLValue]]) throws -> Bool

    /// - Parameter mayInsert: gets the rows; if it returns false, they count as conflicting.
    init(_ session: any SQLSession, _ mayInsert: @escaping ([[SQLValue]]) throws -> Bool) {
        (self.session, self.mayInsert) = (session, mayInsert)
    }

    var locksRows: Bool { session.locksRows }

    func query(_ sql: String, _ arguments: [SQLValue]) throws -> [SQLRow] {
        try session.query(sql, arguments)
    }

    func batch(_ sql: String, _ arguments: [[SQLValue]]) throws -> [[SQLRow]] {
        try session.batch(sql, arguments)
    }

    func query(_ statement: TableStatement, _ given: [[SQLValue]]) throws -> [SQLRow] {
        if statement.single.contains("INSERT INTO durable_job ("), !(try mayInsert(given)) {
            return []
        }
        return try session.query(statement, given)
    }
}
#endif
