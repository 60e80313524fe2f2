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

/// Waits for its cancellation, whose handler blocks the thread that calls it.
private struct BlockingHandler: Job {
    static let name = "blocking handler"
    private static let events = Locked<[String: ThreadEvent]>([:])
    var board = Board.newName()

    func perform(in context: JobContext) async throws -> NoOutput {
        let event = event
        let cancelled = Signal()
        Board.signal("\(board) started").send()
        await withTaskCancellationHandler {
            _ = await cancelled.arrives()
        } onCancel: {
            Board.signal("\(board) cancelled").send()
            cancelled.send()
            event.wait(atMost: nil)
        }
        return NoOutput()
    }

    func release() { event.signal() }

    private var event: ThreadEvent {
        Self.events.withLock { events in
            let event = events[board] ?? ThreadEvent()
            events[board] = event
            return event
        }
    }
}

extension JobWorker {
    /// Waits until the worker's lease ends later than now by a time; returns whether the worker
    /// still has that lease. Asks again and again, because a worker tells nobody about a heartbeat.
    fileprivate func renewsItsLease(for time: Duration) async -> Bool {
        guard let first = lease.withLock({ $0.end }) else { return false }
        while let end = lease.withLock({ $0.end }) {
            if end >= first + time { return true }
            try? await Task.sleep(for: .milliseconds(5))
        }
        return false
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

    /// The handler of a cancellation, and the observer of a worker, may block for longer than the
    /// lease.
    @Test(arguments: StoreKind.allCases)
    func handlersThatBlockDoNotCostTheLease(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let leases = Locked(0)
            var options = JobWorker.Options()
            options.lease = .seconds(1)
            options.observer = { event in
                if case .leaseLost = event { leases.withLock { $0 += 1 } }
            }
            let job = BlockingHandler()
            try await withWorker(queue, [BlockingHandler.self], options: options) {
                worker async throws in
                let handle = try await queue.enqueue(job)
                #expect(await Board.signal("\(job.board) started").arrives())
                try await queue.cancel(handle.id)
                #expect(await Board.signal("\(job.board) cancelled").arrives())
                let isRenewed = await worker.renewsItsLease(for: options.lease * 2)
                job.release()
                #expect(isRenewed)
            }
            #expect(leases.withLock { $0 } == 0)
        }
    }

    /// The observer blocks the thread that tells it of a lost lease. The worker registers again,
    /// and goes on.
    @Test(arguments: StoreKind.allCases)
    func anObserverThatBlocksDoesNotStopTheHeartbeats(_ kind: StoreKind) async throws {
        try await withQueue(kind) { queue async throws in
            let blocked = Signal()
            let released = ThreadEvent()
            var options = JobWorker.Options()
            options.lease = .seconds(1)
            options.observer = { event in
                guard case .leaseLost = event else { return }
                blocked.send()
                released.wait(atMost: nil)
            }
            try await withWorker(queue, [AttemptNumber.self], options: options) {
                _ async throws in
                _ = try await queue.enqueue(AttemptNumber()).value
                try await queue.change("UPDATE durable_job_worker SET lease_until = 0")
                #expect(await blocked.arrives())
                let handle = try await queue.enqueue(AttemptNumber())
                _ = try await handle.value
                released.signal()
            }
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
