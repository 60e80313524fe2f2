#if DurableJobs
import Operations
import OperationsTestSupport
import Testing

@testable import DurableJobs

/// Returns the number of its attempt.
private struct AttemptNumber: Job {
    static let name = "attempt number"

    func perform(in context: JobContext) async throws -> Int { context.attempt }
}

@Suite(.timeLimit(.minutes(2)))
struct LeaseEndTests {
    /// A process that was stopped after a claim wakes after the end of its lease. Then the job may
    /// be about to begin before the watchdog has noticed.
    @Test func noJobBeginsAfterTheLease() async throws {
        try await withQueue(.file) { queue async throws in
            let operations = OperationQueue()
            operations.isSuspended = true
            let (started, startedAgain) = (Signal(), Signal())
            let starts = Locked(0)
            var options = JobWorker.Options()
            // No heartbeat comes to the aid of the lease.
            options.lease = .seconds(3600)
            options.observer = { event in
                guard case .started = event else { return }
                let number = starts.withLock { count in
                    count += 1
                    return count
                }
                if number == 1 { started.send() }
                if number == 2 {
                    operations.isSuspended = true
                    startedAgain.send()
                }
            }
            let worker = JobWorker(
                queue, performing: [AttemptNumber.self], on: operations, options: options)
            let run = Task { try await worker.run() }
            let handle = try await queue.enqueue(AttemptNumber())
            #expect(await started.arrives())
            let end = worker.lease.withLock { $0.end }
            worker.lease.withLock { $0.end = Machine.timeSinceBoot }
            operations.isSuspended = false
            // The worker has handed the first attempt back, and has claimed the job again.
            #expect(await startedAgain.arrives())
            worker.lease.withLock { $0.end = end }
            operations.isSuspended = false
            #expect(try await handle.value == 2)
            worker.stop(gracePeriod: .zero)
            try await run.value
        }
    }
}
#endif
