#if DurableJobs
import CDurableJobsSQLite
import OperationsRuntime
import OperationsTestSupport
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import DurableJobs

/// The connection by which the library speaks to SQLite.
@Suite(.timeLimit(.minutes(5)))
struct SQLiteConnectionTests {
    private static let values: [SQLValue] = [
        .null, .integer(0), .integer(.min), .integer(.max), .text(""), .text("a\0b\0"),
        .text("Grüße, 世界 \u{1F600}"), .text(String(repeating: "x", count: 1_000_000)),
        .bytes(Data()), .bytes(Data([0, 255, 0])), .bytes(Data(repeating: 7, count: 1_000_000)),
    ]

    @Test(arguments: values)
    func valueIsReadAsItWasWritten(_ value: SQLValue) throws {
        let connection = try SQLiteConnection()
        try connection.execute("CREATE TABLE given (value)")
        let insertion = "INSERT INTO given VALUES (?) RETURNING value"
        #expect(try connection.rows(insertion, [value]) == [[value]])
        #expect(try connection.rows("SELECT value, ? FROM given", [value]) == [[value, value]])
    }

    /// No column of the tables has fractions. SQLite rounds towards zero, and stays in range.
    @Test(arguments: [("2.9", 2), ("-2.9", -2), ("1e300", Int64.max), ("-1e300", .min)])
    func numberWithAFractionIsAnInteger(_ number: String, _ integer: Int64) throws {
        #expect(try SQLiteConnection().rows("SELECT \(number)") == [[.integer(integer)]])
    }

    @Test func argumentsOfOneExecutionAreNotThoseOfTheNext() throws {
        let connection = try SQLiteConnection()
        #expect(try connection.rows("SELECT ?, ?", [.integer(1), .text("a")]).count == 1)
        let error = #expect(throws: SQLiteError.self) {
            try connection.rows("SELECT ?, ?", [.integer(2)])
        }
        #expect(error?.primaryCode == SQLITE_RANGE)
        #expect(
            try connection.rows("SELECT ?, ?", [.null, .integer(3)]) == [[.null, .integer(3)]])
    }

    @Test func errorHasTheExtendedCodeAndTheMessage() throws {
        let connection = try SQLiteConnection()
        try connection.execute("CREATE TABLE given (value UNIQUE)")
        let insertion = "INSERT INTO given VALUES (?)"
        #expect(try connection.rows(insertion, [.integer(1)]) == [])
        let error = #expect(throws: SQLiteError.self) {
            try connection.rows(insertion, [.integer(1)])
        }
        #expect(error?.code == SQLITE_CONSTRAINT | 8 << 8)
        #expect(
            error?.jobError("it")
                == .refused(
                    store: "it",
                    reason: "UNIQUE constraint failed: given.value (SQLite's code 2067)"))
        // The statement can be used again.
        #expect(try connection.rows(insertion, [.integer(2)]) == [])
        #expect(throws: SQLiteError.self) { try connection.rows("SELECT nothing") }
        #expect(throws: SQLiteError.self) { try connection.execute("nonsense") }
    }

    /// A statement that failed, or whose table has changed, does not keep the table locked.
    @Test func statementsFollowTheTablesTheyRead() throws {
        let connection = try SQLiteConnection()
        try connection.execute("CREATE TABLE given (a); INSERT INTO given VALUES (1), (2)")
        #expect(try connection.rows("SELECT * FROM given").map(\.count) == [1, 1])
        try connection.execute("ALTER TABLE given ADD COLUMN b DEFAULT 3")
        #expect(try connection.rows("SELECT * FROM given").map(\.count) == [2, 2])
        #expect(throws: SQLiteError.self) {
            try connection.rows("SELECT abs(-9223372036854775806 - a) FROM given")
        }
        try connection.execute("DROP TABLE given")
    }

    @Test func transactionIsCommittedOrRolledBack() throws {
        struct Stop: Error {}
        let connection = try SQLiteConnection()
        try connection.execute("CREATE TABLE given (value)")
        let insertion = "INSERT INTO given VALUES (?)"
        #expect(throws: Stop.self) {
            try connection.transaction("BEGIN") {
                _ = try connection.rows(insertion, [.integer(1)])
                #expect(connection.isInTransaction)
                throw Stop()
            }
        }
        #expect(!connection.isInTransaction)
        try connection.transaction("BEGIN IMMEDIATE") {
            _ = try connection.rows(insertion, [.integer(2)])
        }
        #expect(try connection.rows("SELECT value FROM given") == [[.integer(2)]])
        // SQLite rolls back by itself, and there is nothing to commit.
        #expect(throws: SQLiteError.self) {
            try connection.transaction("BEGIN") { try connection.execute("ROLLBACK") }
        }
    }

    @Test func functionGivesAValueEachTimeAndMayBeReplaced() throws {
        let connection = try SQLiteConnection()
        let calls = Locked(0)
        try connection.addFunction("calls") {
            .integer(
                calls.withLock {
                    $0 += 1
                    return Int64($0)
                })
        }
        #expect(
            try connection.rows("SELECT calls(), calls()") == [[.integer(1), .integer(2)]])
        try connection.addFunction("calls") { .text("no\0ne") }
        #expect(try connection.rows("SELECT calls()") == [[.text("no\0ne")]])
    }

    /// Neither a connection nor the value of a function stays, whether a file can be opened or not.
    @Test func nothingStaysOpen() async throws {
        final class Witness: Sendable {}
        try await withFolder { folder in
            let (path, notes) = ("\(folder)/jobs.sqlite", "\(folder)/notes.txt")
            try Data(String(repeating: "just text ", count: 100).utf8)
                .write(to: URL(filePath: notes))
            weak var witness: Witness?
            do {
                let (connection, seen) = (try SQLiteConnection(path: path), Witness())
                witness = seen
                try connection.addFunction("seen") {
                    withExtendedLifetime(seen) { .null }
                }
                try connection.execute("CREATE TABLE given (value)")
                #expect(try connection.rows("SELECT seen()") == [[.null]])
                #expect(connection.file?.hasSuffix("/jobs.sqlite") == true)
                #expect(throws: SQLiteError.self) { try SQLiteConnection(path: notes) }
                #expect(throws: SQLiteError.self) {
                    try SQLiteConnection(path: "\(folder)/no/jobs.sqlite")
                }
                let reader = try SQLiteConnection(path: path, isReadOnly: true)
                let error = #expect(throws: SQLiteError.self) {
                    try reader.execute("DROP TABLE given")
                }
                #expect(error?.primaryCode == SQLITE_READONLY)
            }
            #expect(witness == nil)
            #if os(Linux)
            let files = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
                .compactMap {
                    try? FileManager.default.destinationOfSymbolicLink(
                        atPath: "/proc/self/fd/\($0)")
                }
            #expect(files.filter { $0.hasPrefix(folder) } == [])
            #endif
        }
    }

    @Test func connectionWaitsForAnotherTransaction() async throws {
        try await withFolder { folder in
            let path = "\(folder)/jobs.sqlite"
            let first = try SQLiteConnection(path: path)
            try first.execute("CREATE TABLE given (value); BEGIN IMMEDIATE")
            let (isOpen, isWritten, failure) = (Signal(), Signal(), Signal())
            startTestThread {
                do {
                    let other = try SQLiteConnection(path: path)
                    isOpen.send()
                    try other.execute("INSERT INTO given VALUES (1)")
                    isWritten.send()
                } catch {
                    failure.send()
                }
            }
            #expect(await isOpen.arrives())
            #expect(!isWritten.wait(milliseconds: 0) && !failure.wait(milliseconds: 0))
            try first.execute("COMMIT")
            #expect(await isWritten.arrives())
        }
    }
}

extension SQLiteConnection {
    fileprivate func rows(_ sql: String, _ arguments: [SQLValue] = []) throws -> [[SQLValue]] {
        try statement(sql).rows(arguments).map(\.values)
    }
}
#endif
