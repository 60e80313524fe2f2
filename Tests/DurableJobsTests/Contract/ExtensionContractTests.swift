#if DurableJobs
import Operations
import OperationsRuntime
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@testable import DurableJobs

/// An extension that notes its calls. A job leaves its result as text, and as bytes.
private final class Recorder: JobExtension {
    private struct State {
        var calls: [String] = []
        /// Whether what is left after the commit can be done now.
        var isAble = true
    }

    private final class Part: AttemptExtension {
        private let job: JobID
        private let recorder: Recorder

        init(_ job: JobID, _ recorder: Recorder) { (self.job, self.recorder) = (job, recorder) }

        func bodyReturned() throws { recorder.note("returned \(job)") }

        var addition: EndAddition? { EndAddition(outputs: "rest", bytes: Data("bytes".utf8)) }

        func didNotCommit() { recorder.note("not committed \(job)") }
    }

    private let state = Locked(State())

    let schema = ExtensionSchema(
        name: "recorder", version: 1,
        statements: ["CREATE TABLE IF NOT EXISTS durable_job_record (job BIGINT PRIMARY KEY)"])

    var calls: [String] { state.withLock { $0.calls } }

    private func note(_ call: String) { state.withLock { $0.calls.append(call) } }

    func setAble(_ isAble: Bool) { state.withLock { $0.isAble = isAble } }

    func attempt(_ job: ClaimedJob, in queue: String) -> any AttemptExtension {
        Part(job.token.job, self)
    }

    func willCommit(
        _ additions: [(job: JobID, bytes: Data)], in queue: String, _ session: any SQLSession
    ) throws {
        for addition in additions {
            note("\(String(decoding: addition.bytes, as: UTF8.self)) of \(addition.job)")
            // No second row: the transaction would fail.
            _ = try session.query(
                "INSERT INTO durable_job_record (job) VALUES (?)",
                [.integer(addition.job.rawValue)])
        }
    }

    func didCommit(_ ends: [(job: JobID, outputs: String)]) -> [JobID] {
        for end in ends { note("\(end.outputs) of \(end.job)") }
        return state.withLock { $0.isAble } ? ends.map(\.job) : []
    }

    func willRemove(_ jobs: [[SQLValue]], _ session: any SQLSession) throws {
        _ = try session.batch("DELETE FROM durable_job_record WHERE job = ?", jobs)
    }

    func keptJobs(
        with keys: [String], in queue: String, _ session: any SQLSession
    ) throws -> [String: JobID] {
        [:]
    }

    func refresh(_ queue: JobQueue) async throws {}

    func sweep(_ queue: JobQueue, committedBefore age: Duration) async throws -> Bool { false }

    func sweep(_ jobs: [JobID], of store: JobStore, committedBefore age: Duration) async throws {}
}

/// What the core promises to an extension of a store.
@Suite(.timeLimit(.minutes(5)))
struct ExtensionContractTests {
    private func withRecorder(
        _ kind: StoreKind, _ body: (JobQueue, Recorder) async throws -> Void
    ) async throws {
        try await withStorage(kind) { storage in
            let recorder = Recorder()
            let queue = try await JobQueue("tests", in: storage.with(recorder))
            try await closing(queue) { try await body($0, recorder) }
        }
    }

    private func isUnpublished(_ id: JobID, in queue: JobQueue) async throws -> Bool? {
        try await queue.store.outcomes(of: [id]).ended.first?.isUnpublished
    }

    @Test(arguments: StoreKind.allCases)
    func successIsReturnedCommittedAndPublishedInOrder(_ kind: StoreKind) async throws {
        try await withRecorder(kind) { queue, recorder in
            let handle = try await queue.enqueue(Echo(text: "text"))
            let id = handle.id
            try await withWorker(queue, [Echo.self]) { _ async throws in
                #expect(try await handle.value == "text")
            }
            #expect(recorder.calls == ["returned \(id)", "bytes of \(id)", "rest of \(id)"])
            #expect(try await isUnpublished(id, in: queue) == false)
            #expect(try await queue.rowCount("durable_job_record") == 1)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func failureLeavesNothing(_ kind: StoreKind) async throws {
        try await withRecorder(kind) { queue, recorder in
            let handle = try await queue.enqueue(Flaky(failures: 1))
            try await withWorker(queue, [Flaky.self]) { _ async throws in
                _ = await #expect(throws: JobFailure.self) { try await handle.value }
            }
            #expect(recorder.calls == ["not committed \(handle.id)"])
            #expect(try await queue.rowCount("durable_job_record") == 0)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func repeatedCommitAddsNothingAndAFencedOneNeither(_ kind: StoreKind) async throws {
        try await withRecorder(kind) { queue, recorder in
            let id = try await queue.enqueue(Echo(text: "")).id
            let slow = try await Ghost(queue)
            let quick = try await Ghost(queue)
            let old = try #require(try await slow.claim().first)
            try await slow.die()
            #expect(try await queue.store.rescue(in: "tests").count == 1)
            let new = try #require(try await quick.claim().first)
            let addition = EndAddition(outputs: "rest", bytes: Data("bytes".utf8))
            let success = AttemptVerdict.completed(result: Data(), addition: addition)
            for _ in 0..<2 {
                let right = try await quick.exchange([EndedAttempt(new.token, success)])
                #expect(right.verdicts == [.accepted(.completed)])
                let late = try await slow.exchange([EndedAttempt(old.token, success)])
                #expect(late.verdicts == [.fenced])
            }
            #expect(recorder.calls == ["bytes of \(id)"])
        }
    }

    /// Nobody sees such an end, and its row stays.
    @Test(arguments: StoreKind.allCases)
    func endOfWhichSomethingIsLeftIsNotPublished(_ kind: StoreKind) async throws {
        try await withRecorder(kind) { queue, recorder in
            recorder.setAble(false)
            let handle = try await queue.enqueue(Echo(text: "text"))
            try await withWorker(queue, [Echo.self]) { _ async throws in
                while !recorder.calls.contains("rest of \(handle.id)") { await Task.yield() }
            }
            #expect(try await isUnpublished(handle.id, in: queue) == true)
            let now = try await queue.store.now()
            while try await queue.store.now() <= now { await Task.yield() }
            #expect(try await queue.prune(endedFor: .zero) == 0)
            #expect(try await !queue.store.publish([(handle.id, "rest")]))
            recorder.setAble(true)
            #expect(try await queue.store.publish([(handle.id, "rest")]))
            #expect(try await handle.value == "text")
            #expect(try await queue.prune(endedFor: .zero) == 1)
            #expect(try await queue.rowCount("durable_job_record") == 0)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func storeOfAnotherExtensionIsRefused(_ kind: StoreKind) async throws {
        try await withStorage(kind) { storage in
            try await storage.with(Recorder()).migrate()
            let error = await #expect(throws: JobError.self) { try await storage.migrate() }
            #expect(error?.description.contains("recorder") == true)
        }
    }
}
#endif
