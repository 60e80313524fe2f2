#if DurableJobs
import DurableJobs
import DurableJobsTestKit
import OperationsTestKit
import Testing

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Values of workers, postponed attempts, and traits that differ from job to job.
@Suite(.timeLimit(.minutes(5)))
struct ProvidedValueTests {
    /// A dependency of jobs.
    struct Shelf: Sendable {
        let isMounted: Bool
        let name: String
    }

    /// Needs a shelf that is mounted.
    struct Fetch: Job {
        static let name = "fetch"
        var item: String

        func perform(in context: JobContext) async throws -> String {
            let shelf = try context.provided(Shelf.self)
            guard shelf.isMounted else {
                Board.count(item)
                throw Snooze(for: .milliseconds(30), because: "the shelf is not mounted")
            }
            return "\(item) from \(shelf.name)"
        }
    }

    private func options(_ shelf: Shelf?) -> JobWorker.Options {
        var options = testOptions
        if let shelf { options.values.provide(shelf) }
        return options
    }

    @Test(arguments: StoreKind.allCases)
    func jobGetsTheValueOfItsWorker(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let handle = try await queue.enqueue(Fetch(item: "tea"))
            let shelf = Shelf(isMounted: true, name: "A")
            try await withWorker(queue, [Fetch.self], options: options(shelf)) { _ async throws in
                #expect(try await handle.value == "tea from A")
            }
        }
    }

    @Test func missingValueDiscardsTheJob() async throws {
        try await withQueue(.file) { queue async throws in
            let handle = try await queue.enqueue(Fetch(item: "tea"), .retry(9))
            try await withWorker(queue, [Fetch.self]) { _ async throws in
                let error = await #expect(throws: JobFailure.self) { try await handle.value }
                #expect(error?.reason.contains("no value of the type Shelf") == true)
            }
        }
    }

    /// A worker without the shelf postpones the job more often than the job may fail, and a worker
    /// with the shelf then runs it.
    @Test(arguments: StoreKind.allCases)
    func snoozedAttemptDoesNotCount(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let tea = Board.newName()
            let handle = try await queue.enqueue(Fetch(item: tea))
            let missing = Shelf(isMounted: false, name: "B")
            try await withWorker(queue, [Fetch.self], options: options(missing)) { _ async throws in
                while Board.value(tea) < 3 { await Task.yield() }
            }
            let info = try #require(try await queue.info(handle.id))
            #expect(!info.state.isEnded)
            let mounted = Shelf(isMounted: true, name: "A")
            try await withWorker(queue, [Fetch.self], options: options(mounted)) { _ async throws in
                #expect(try await handle.value == "\(tea) from A")
            }
        }
    }

    @Test func explainSaysWhyAJobWasPostponed() async throws {
        let scheduler = TestScheduler(seed: 1)
        var values = JobValues()
        values.provide(Shelf(isMounted: false, name: "A"))
        let tester = try await JobTester(
            clock: scheduler.clock, performing: [Fetch.self], providing: values)
        let handle = try await tester.queue.enqueue(Fetch(item: "tea"))
        #expect(try await tester.runDueJobs() == [handle.id])
        #expect(
            try await tester.queue.explain(handle.id)
                == "job \(handle.id) ('fetch') was postponed, and is tried again in 30 ms: the "
                + "shelf is not mounted")
    }

    @Test(arguments: StoreKind.allCases)
    func jobsWithKeysOfTheirOwnJoinStoredOnes(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let items = (1...1500).map { Fetch(item: "\($0)") }
            let first = try await queue.enqueue(items) { [.unique(by: $0.item)] }
            #expect(Set(first.map(\.id)).count == 1500)
            let second = try await queue.enqueue(items + [Fetch(item: "new")]) {
                [.unique(by: $0.item)]
            }
            #expect(second.dropLast().map(\.id) == first.map(\.id))
            #expect(try await queue.counts() == [.available: 1501])
            let info = try #require(try await queue.info(first[6].id))
            #expect(try info.job(as: Fetch.self)?.item == "7")
            #expect(try info.job(as: Echo.self) == nil)
        }
    }
}
#endif
