#if DurableJobsPostgres
import DurableJobs
import DurableJobsPostgres
import Foundation
import Testing

/// Jobs of a program in another language.
@Suite(.timeLimit(.minutes(5)))
struct PythonClientTests {
    /// A client in another language, in its own transaction.
    @Test func aProgramInPythonEnqueues() async throws {
        try await withDatabase { url in
            try await closing(try await JobQueue("tests", in: .postgres(url))) { queue in
                let program = """
                    import json, sys, psycopg2
                    connection = psycopg2.connect(sys.argv[1])
                    for end in (connection.rollback, connection.commit):
                        cursor = connection.cursor()
                        cursor.execute(
                            "SELECT durable_job_enqueue(%s, %s, %s, retries => 3)",
                            ("tests", "echo", json.dumps({"text": end.__name__})))
                        end()
                    """
                let python = Process()
                python.executableURL = URL(filePath: "/usr/bin/python3")
                python.arguments = ["-c", program, url]
                try await withCheckedThrowingContinuation { continuation in
                    python.terminationHandler = { _ in continuation.resume() }
                    do { try python.run() } catch { continuation.resume(throwing: error) }
                }
                #expect(python.terminationStatus == 0)
                #expect(try await queue.unfinished(Echo.self).map(\.text) == ["commit"])
            }
        }
    }
}
#endif
