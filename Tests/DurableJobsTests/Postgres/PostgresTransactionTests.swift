#if DurableJobsPostgres
import CDurableJobsLibPQ
import DurableJobs
import Testing

@testable import DurableJobsPostgres

/// The connections on which a program may store jobs in a transaction of its own.
@Suite(.timeLimit(.minutes(5)))
struct PostgresTransactionTests {
    @Test func connectionWithoutATransactionIsRefused() async throws {
        try await withDatabase { url in
            let queue = try await JobQueue(in: .postgres(url))
            let connection = try PostgresTarget(url).connect()
            defer { PQfinish(connection) }
            let idle = #expect(throws: JobError.self) {
                try queue.enqueue(Echo(text: ""), in: .postgres(connection))
            }
            #expect(idle?.description.contains("no open transaction") == true)
            let session = PostgresSession(connection)
            try session.execute("BEGIN")
            #expect(throws: PostgresFailure.self) { try session.query("SELECT nothing") }
            let failed = #expect(throws: JobError.self) {
                try queue.enqueue(Echo(text: ""), in: .postgres(connection))
            }
            #expect(failed?.description.contains("roll it back") == true)
            try session.execute("ROLLBACK")
            #expect(try await queue.counts().isEmpty)
            await queue.close()
        }
    }

    /// The other database has tables of the same names, so the job would be stored there.
    @Test func connectionToAnotherDatabaseIsRefused() async throws {
        try await withDatabase { url in
            try await withDatabase { otherURL in
                let queue = try await JobQueue(in: .postgres(url))
                let other = try await JobQueue(in: .postgres(otherURL))
                let connection = try PostgresTarget(otherURL).connect()
                defer { PQfinish(connection) }
                let session = PostgresSession(connection)
                try session.execute("BEGIN")
                let error = #expect(throws: JobError.self) {
                    try queue.enqueue(Echo(text: ""), in: .postgres(connection))
                }
                #expect(error?.description.contains("to another database: jobs_") == true)
                // The transaction can go on.
                let handle = try other.enqueue(Echo(text: ""), in: .postgres(connection))
                try session.execute("COMMIT")
                #expect(try await other.info(handle.id)?.state == .available)
                #expect(try await queue.counts().isEmpty)
                await other.close()
                await queue.close()
            }
        }
    }

    /// Only the notification can tell the workers of another process at once.
    @Test func theCommitOfATransactionNotifiesTheWorkers() async throws {
        try await withDatabase { url in
            let queue = try await JobQueue("tests", in: .postgres(url))
            let listening = try PostgresTarget(url).connect()
            let connection = try PostgresTarget(url).connect()
            defer {
                PQfinish(listening)
                PQfinish(connection)
            }
            func notifications() throws -> [String] {
                // The server sends them before the answer to a statement.
                try PostgresSession(listening).execute("LISTEN durable_jobs")
                var found: [String] = []
                while let notification = PQnotifies(listening) {
                    found.append(String(cString: notification.pointee.extra))
                    PQfreemem(notification)
                }
                return found
            }
            #expect(try notifications().isEmpty)
            let session = PostgresSession(connection)
            for (end, expected) in [("ROLLBACK", []), ("COMMIT", ["tests"])] {
                try session.execute("BEGIN")
                for _ in 0..<3 {
                    try queue.enqueue(Echo(text: ""), in: .postgres(connection))
                }
                #expect(try notifications().isEmpty)
                try session.execute(end)
                #expect(try notifications() == expected)
            }
            await queue.close()
        }
    }
}
#endif
