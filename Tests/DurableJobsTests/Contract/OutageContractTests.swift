#if DurableJobs
import Operations
import OperationsRuntime
import OperationsTestSupport
import Testing

@testable import DurableJobs

/// A store that cannot be reached: when a program starts, and while a worker runs.
@Suite(.timeLimit(.minutes(5)))
struct OutageContractTests {
    /// What a worker reports about the store.
    private final class Reports: Sendable {
        private struct Counts {
            var failures = 0
            var recoveries = 0
        }

        private let counts = Locked(Counts())
        let hasFailed = Signal()
        let hasRecovered = Signal()
        let hasLostLease = Signal()

        var failures: Int { counts.withLock { $0.failures } }
        var recoveries: Int { counts.withLock { $0.recoveries } }

        func add(_ event: JobWorkerEvent) {
            switch event {
            case .storeFailed:
                counts.withLock { $0.failures += 1 }
                hasFailed.send()
            case .storeRecovered:
                counts.withLock { $0.recoveries += 1 }
                hasRecovered.send()
            case .leaseLost: hasLostLease.send()
            default: break
            }
        }
    }

    private func withInterruptedQueue(
        _ kind: StoreKind, _ body: (JobQueue, InterruptedDatabase) async throws -> Void
    ) async throws {
        try await withQueue(kind) { queue async throws in
            let database = InterruptedDatabase(queue.store.database)
            try await body(JobQueue("tests", JobStore(database)), database)
        }
    }

    private func options(_ reports: Reports) -> JobWorker.Options {
        var options = testOptions
        options.observer = { reports.add($0) }
        return options
    }

    /// A worker is a service of a group, which ends when one of its services throws.
    @Test(arguments: StoreKind.allCases)
    func aWorkerWaitsForItsStoreAtTheStart(_ kind: StoreKind) async throws {
        try await withInterruptedQueue(kind) { queue, database in
            let handle = try await queue.enqueue(Echo(text: "late"))
            database.interrupt()
            let reports = Reports()
            try await withWorker(queue, [Echo.self], options: options(reports)) {
                _ async throws in
                #expect(await reports.hasFailed.arrives())
                database.interrupt(false)
                #expect(try await handle.value == "late")
                #expect(await reports.hasRecovered.arrives())
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func theWaitAtTheStartHasALimit(_ kind: StoreKind) async throws {
        try await withInterruptedQueue(kind) { queue, database in
            database.interrupt()
            let reports = Reports()
            var options = options(reports)
            options.startPatience = .milliseconds(200)
            let worker = JobWorker(
                queue, performing: [Echo.self], on: OperationQueue(), options: options)
            let error = await #expect(throws: JobError.self) { try await worker.run() }
            #expect(error?.description.contains("the server is down") == true)
            #expect(reports.failures > 0)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func aWorkerThatWaitsForItsStoreCanBeStopped(_ kind: StoreKind) async throws {
        try await withInterruptedQueue(kind) { queue, database in
            database.interrupt()
            for isCancelled in [false, true] {
                let reports = Reports()
                var options = options(reports)
                options.startPatience = .seconds(86_400)
                let worker = JobWorker(
                    queue, performing: [Echo.self], on: OperationQueue(), options: options)
                let run = Task { try await worker.run() }
                #expect(await reports.hasFailed.arrives())
                if isCancelled { run.cancel() } else { worker.stop() }
                try await run.value
            }
        }
    }

    /// Heartbeats, transactions and maintenance fail one after another, and recover so.
    @Test(arguments: StoreKind.allCases)
    func theEndOfAnOutageIsReported(_ kind: StoreKind) async throws {
        try await withInterruptedQueue(kind) { queue, database in
            let reports = Reports()
            try await withWorker(queue, [Echo.self], options: options(reports)) {
                _ async throws in
                #expect(try await queue.enqueue(Echo(text: "before")).value == "before")
                database.interrupt()
                // At most two of three loops have failed once.
                #expect(await comesTrue { reports.failures >= 6 })
                #expect(reports.recoveries == 0)
                database.interrupt(false)
                #expect(await reports.hasRecovered.arrives())
                #expect(try await queue.enqueue(Echo(text: "after")).value == "after")
            }
        }
    }

    /// The worker waits for the store and then says that it has not died: otherwise a job would be
    /// discarded for an outage in which its worker was stopped.
    @Test(arguments: StoreKind.allCases)
    func aWorkerThatIsStoppedInAnOutageHasNotDied(_ kind: StoreKind) async throws {
        try await withInterruptedQueue(kind) { queue, database in
            let job = Wait()
            let handle = try await queue.enqueue(job)
            let reports = Reports()
            var options = options(reports)
            options.lease = .seconds(1)
            let worker = JobWorker(
                queue, performing: [Wait.self], on: OperationQueue(), options: options)
            let run = Task { try await worker.run() }
            #expect(await job.hasStarted)
            database.interrupt()
            #expect(await reports.hasLostLease.arrives())
            worker.stop(gracePeriod: .seconds(60))
            let failures = reports.failures
            #expect(await comesTrue { reports.failures > failures + 4 })
            database.interrupt(false)
            try await run.value
            #expect(try await queue.info(handle.id)?.state == .available)
            #expect(try await queue.store.rescue(in: "tests", deathLimit: 1).count == 0)
            #expect(try await queue.rowCount("durable_job WHERE deaths > 0") == 0)
        }
    }

    /// A worker that is stopped without a grace period ends at once, whatever the store says.
    @Test(arguments: StoreKind.allCases)
    func aWorkerThatIsStoppedInAnOutageEndsWithItsGracePeriod(_ kind: StoreKind) async throws {
        try await withInterruptedQueue(kind) { queue, database in
            let job = Wait()
            try await queue.enqueue(job)
            let reports = Reports()
            var options = options(reports)
            options.lease = .seconds(1)
            try await withWorker(queue, [Wait.self], options: options) { _ async throws in
                #expect(await job.hasStarted)
                database.interrupt()
                #expect(await reports.hasLostLease.arrives())
            }
            database.interrupt(false)
        }
    }

    /// One connection may be lost while the others work.
    @Test func anOutageLastsUntilAllLoopsHaveSucceeded() {
        final class Worker {}
        let health = StoreHealth()
        let (one, other) = (Worker(), Worker())
        #expect(health.succeeded(.heartbeats, of: one) == nil)
        health.failed(.heartbeats, of: one)
        health.failed(.exchanges, of: one)
        health.failed(.heartbeats, of: other)
        health.failed(.exchanges, of: one)
        #expect(health.succeeded(.exchanges, of: one) == nil)
        #expect(health.succeeded(.exchanges, of: other) == nil)
        #expect(health.succeeded(.heartbeats, of: one) == nil)
        #expect(health.succeeded(.heartbeats, of: other) != nil)
        #expect(health.succeeded(.heartbeats, of: other) == nil)
        // A worker that ends does not keep the outage open.
        health.failed(.exchanges, of: one)
        health.failed(.exchanges, of: other)
        health.forget(one)
        #expect(health.succeeded(.exchanges, of: other) != nil)
    }

    // MARK: Opening a queue

    /// A place for a store that cannot be opened a number of times.
    private func storage(
        _ storage: JobStorage, failing count: Int, with error: JobError
    ) -> (storage: JobStorage, tries: Tries) {
        let tries = Tries()
        let failing = JobStorage(storage.description) { _ in
            if tries.add() <= count { throw error }
            return try await storage.open().database
        } version: {
            try await storage.schemaVersion()
        }
        return (failing, tries)
    }

    private final class Tries: Sendable {
        private let state = Locked(0)

        var count: Int { state.withLock { $0 } }

        func add() -> Int {
            state.withLock { count in
                count += 1
                return count
            }
        }
    }

    private let isDown = JobError.unavailableStore(
        store: "the store", reason: "connection refused.\nStart it:\n    start it")

    @Test(arguments: StoreKind.allCases)
    func aQueueWaitsForItsStore(_ kind: StoreKind) async throws {
        try await withStorage(kind) { storage in
            let (failing, tries) = self.storage(storage, failing: 2, with: isDown)
            let lines = Locked<[String]>([])
            let queue = try await JobQueue("tests", in: failing, waitingFor: .seconds(90_000)) {
                line in lines.withLock { $0.append(line) }
            }
            #expect(tries.count == 3)
            #expect(try await queue.counts().isEmpty)
            // One line for all tries of a minute, without what follows on other lines.
            #expect(
                lines.withLock { $0 } == [
                    "the store cannot be used now: connection refused. The program tries again, "
                        + "for up to 24 h."
                ])
            await queue.close()
        }
    }

    @Test func aQueueWaitsNoLongerThanItIsTold() async throws {
        try await withStorage(.file) { storage in
            let (failing, tries) = self.storage(storage, failing: .max, with: isDown)
            await #expect(throws: isDown) { try await JobQueue("tests", in: failing) }
            #expect(tries.count == 1)
            await #expect(throws: isDown) {
                try await JobQueue("tests", in: failing, waitingFor: .milliseconds(200))
            }
            #expect(tries.count > 2)
            let waiting = Signal()
            let opening = Task {
                try await JobQueue("tests", in: failing, waitingFor: .seconds(86_400)) { _ in
                    waiting.send()
                }
            }
            #expect(await waiting.arrives())
            opening.cancel()
            await #expect(throws: CancellationError.self) { try await opening.value }
        }
    }

    /// Time does not mend it.
    @Test func aQueueDoesNotWaitForANewerStore() async throws {
        try await withStorage(.file) { storage in
            let newer = JobError.newerSchema(store: "the store", found: 99, supported: 1)
            let (failing, tries) = self.storage(storage, failing: .max, with: newer)
            await #expect(throws: newer) {
                try await JobQueue("tests", in: failing, waitingFor: .seconds(86_400))
            }
            #expect(tries.count == 1)
        }
    }
}
#endif
