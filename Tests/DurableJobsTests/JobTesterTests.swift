#if DurableJobs
import DurableJobFiles
import DurableJobs
import DurableJobsTestKit
import Operations
import OperationsTestKit
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

@Suite(.timeLimit(.minutes(15)))
struct JobTesterTests {
    @Test func dueJobsRunAndOthersWaitForTheClock() async throws {
        let scheduler = TestScheduler(seed: 1)
        let tester = try await JobTester(
            clock: scheduler.clock, performing: [Echo.self, Join.self, Flaky.self])
        let now = try await tester.queue.enqueue(Echo(text: "now"))
        let later = try await tester.queue.enqueue(Echo(text: "later"), .delay(.seconds(86_400)))
        let join = try await tester.queue.enqueue(Join(parts: [now, later]), after: now, later)
        #expect(try await tester.enqueued(Echo.self).map(\.text) == ["now", "later"])
        #expect(try await tester.runDueJobs() == [now.id])
        #expect(try await tester.enqueued(Echo.self).map(\.text) == ["later"])

        try scheduler.advance(by: .seconds(86_399))
        #expect(try await tester.runDueJobs().isEmpty)
        try scheduler.advance(by: .seconds(1))
        #expect(try await tester.runDueJobs() == [later.id, join.id])
        #expect(try await join.value == "now later")
    }

    @Test func retriesAreDueAfterTheirBackoff() async throws {
        let scheduler = TestScheduler(seed: 1)
        let tester = try await JobTester(clock: scheduler.clock, performing: [Flaky.self])
        let handle = try await tester.queue.enqueue(
            Flaky(failures: 1), .retry(1, backoff: .constant(.seconds(60))))
        #expect(try await tester.runDueJobs() == [handle.id])
        #expect(
            try await tester.queue.explain(handle.id)
                == "job \(handle.id) ('flaky') failed once, and is tried again in 60.0 s: failure 1"
        )
        try scheduler.advance(by: .seconds(60))
        #expect(try await tester.runDueJobs() == [handle.id])
        #expect(try await handle.value == 2)
    }

    @Test func jobsBeyondTheirDeadlineAreDiscarded() async throws {
        let scheduler = TestScheduler(seed: 1)
        let tester = try await JobTester(clock: scheduler.clock, performing: [Echo.self])
        let handle = try await tester.queue.enqueue(
            Echo(text: ""), .delay(.seconds(100)), .deadline(in: .seconds(10)))
        try scheduler.advance(by: .seconds(10))
        #expect(try await tester.runDueJobs().isEmpty)
        #expect(try await tester.queue.info(handle.id)?.state == .discarded)
    }

    @Test func jobsWithFilesRun() async throws {
        try await withFolder { folder in
            let scheduler = TestScheduler(seed: 1)
            let tester = try await JobTester(
                clock: scheduler.clock, performing: [WriteFile.self, Attach.self]
            ) { $0.withFiles() }
            let files = try await tester.queue.enqueue([
                WriteFile(path: "\(folder)/good", text: "good"),
                WriteFile(path: "\(folder)/bad", text: "bad", failures: 1),
            ])
            let attached = try await tester.queue.enqueue(Attach(byteCount: 5))
            try await tester.runDueJobs()
            #expect(try await files[0].value == "\(folder)/good")
            #expect(
                try String(contentsOfFile: "\(folder)/good", encoding: .utf8) == "good")
            #expect(!FileManager.default.fileExists(atPath: "\(folder)/bad"))
            let staged = try FileManager.default.contentsOfDirectory(atPath: "\(folder)/.stage")
            #expect(staged.allSatisfy { $0.hasPrefix("folder-") })
            #expect(try await tester.queue.attachment(of: attached.id)?.count == 5)
        }
    }

    @Test func endlessRetriesAreNoticed() async throws {
        let scheduler = TestScheduler(seed: 1)
        let tester = try await JobTester(clock: scheduler.clock, performing: [Flaky.self])
        try await tester.queue.enqueue(
            Flaky(failures: .max), .retry(1_000, backoff: .none))
        await #expect(throws: JobTesterError.endless(limit: 50)) {
            try await tester.runDueJobs(limit: 50)
        }
    }
}
#endif
