#if DurableJobs
import OperationsRuntime
import Operations
import OperationsTestSupport
import Testing

@testable import DurableJobs

/// Returns the number of its attempt.
private struct AttemptNumber: Job {
    static let name = "attempt number"

    func perform(in context: JobContext) async throws -> Int { context.attempt }
}

/// Says whether its lease is lost, each time that it is asked.
private struct LeaseQuestion: Job {
    static let name = "lease question"
    var board = Board.newName()

    func perform(in context: JobContext) async throws -> NoOutput {
        for round in 0..<2 {
            Board.write("\(context.isLeaseLost)", to: board)
            Board.signal("\(board) asked \(round)").send()
            guard await Board.signal("\(board) ask \(round)").arrives() else { break }
        }
        return NoOutput()
    }
}

/// In its first run, waits for its cancellation; returns the number of the run.
private struct RunNumber: Job {
    static let name = "run number"
    var board = Board.newName()

    func perform(in context: JobContext) async throws -> Int {
        let run = Board.count(board)
        guard run == 1 else { return run }
        let cancelled = Signal()
        Board.signal("\(board) started").send()
        await withTaskCancellationHandler {
            _ = await cancelled.arrives()
        } onCancel: {
            cancelled.send()
        }
        Board.write("\(context.isLeaseLost)", to: board)
        Board.signal("\(board) cancelled").send()
        return run
    }
}

@Suite(.timeLimit(.minutes(15)))
struct LeaseEndTests {
    /// The process was stopped, and asks before its watchdog has noticed.
    @Test func theClockDecidesWhetherTheLeaseIsLost() async throws {
        try await withQueue(.file) { queue async throws in
            var options = JobWorker.Options()
            // No heartbeat comes to the aid of the lease.
            options.lease = .seconds(3600)
            let job = LeaseQuestion()
            try await withWorker(queue, [LeaseQuestion.self], options: options) {
                worker async throws in
                let handle = try await queue.enqueue(job)
                #expect(await Board.signal("\(job.board) asked 0").arrives())
                let end = worker.lease.withLock { $0.end }
                worker.lease.withLock { $0.end = Machine.timeSinceBoot }
                Board.signal("\(job.board) ask 0").send()
                #expect(await Board.signal("\(job.board) asked 1").arrives())
                worker.lease.withLock { $0.end = end }
                Board.signal("\(job.board) ask 1").send()
                _ = try await handle.value
            }
            #expect(Board.read(job.board) == ["false", "true"])
        }
    }

    /// The database has crashed, has lost the claim of a job, and gives it to the same worker.
    @Test(arguments: StoreKind.allCases)
    func attemptWhoseClaimIsLostIsCancelled(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let job = RunNumber()
            try await withWorker(queue, [RunNumber.self]) { _ async throws in
                let handle = try await queue.enqueue(job)
                #expect(await Board.signal("\(job.board) started").arrives())
                try await queue.loseClaim(of: handle.id)
                #expect(await Board.signal("\(job.board) cancelled").arrives())
                #expect(try await handle.value == 2)
            }
            #expect(Board.read(job.board) == ["true"])
        }
    }

    /// A process that was stopped after a claim wakes after the end of its lease. Then the job may
    /// be about to begin before the watchdog has noticed.
    @Test func noJobBeginsAfterTheLease() async throws {
        try await withQueue(.file) { queue async throws in
            let handedBack = Signal()
            var options = JobWorker.Options()
            // No heartbeat comes to the aid of the lease.
            options.lease = .seconds(3600)
            options.observer = { event in
                guard case .ended(_, _, _, .available, _) = event else { return }
                handedBack.send()
            }
            let idle = Wait()
            try await withWorker(queue, [Wait.self, AttemptNumber.self], options: options) {
                worker async throws in
                // The worker runs, and has its lease.
                let first = try await queue.enqueue(idle)
                #expect(await idle.hasStarted)
                let end = worker.lease.withLock { $0.end }
                worker.lease.withLock { $0.end = Machine.timeSinceBoot }
                let handle = try await queue.enqueue(AttemptNumber())
                #expect(await handedBack.arrives())
                #expect(try await queue.info(handle.id)?.state != .completed)
                worker.lease.withLock { $0.end = end }
                // What has not begun is no attempt.
                #expect(try await handle.value == 1)
                idle.goOn()
                _ = try await first.value
            }
        }
    }
}
#endif
