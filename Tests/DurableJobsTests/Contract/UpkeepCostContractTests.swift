#if DurableJobs
import Testing

@testable import DurableJobs

/// What the background steps of workers do not look at.
@Suite(.timeLimit(.minutes(5)))
struct UpkeepCostContractTests {
    /// Every worker takes these steps every few seconds. With a million jobs, a look at all of them
    /// would take half a second.
    @Test(arguments: StoreKind.allCases, [false, true])
    func stepsFindTheirJobsByAnIndex(_ kind: StoreKind, _ isAnalyzed: Bool) async throws {
        try await withQueue(kind) { queue async throws in
            try await queue.enqueue((0..<3_000).map { Note(board: "", line: "\($0)") })
            try await queue.enqueue(Note(board: "", line: "due"), .deadline(in: .seconds(1000)))
            for (statement, index) in [
                (JobStore.abandoned, "durable_job_running"),
                (JobStore.overdue, "durable_job_deadline"),
            ] {
                let plan = try await queue.store.database.transaction(.relaxed) { session in
                    if kind != .file, isAnalyzed { _ = try session.query("ANALYZE durable_job") }
                    let explain = kind == .file ? "EXPLAIN QUERY PLAN" : "EXPLAIN"
                    return try session.query("\(explain) \(statement)", [.text("tests")])
                        .flatMap(\.values).map { "\($0)" }
                }
                #expect(plan.contains { $0.contains(index) }, "\(plan)")
            }
        }
    }
}
#endif
