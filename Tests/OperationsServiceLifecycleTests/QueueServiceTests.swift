#if ServiceLifecycle
import Foundation
import Logging
import Operations
import OperationsServiceLifecycle
import OperationsTestSupport
import ServiceLifecycle
import Testing
import UnixSignals

/// Processes whose queues are services, and that get signals.
@Suite(.timeLimit(.minutes(5)))
struct QueueServiceTests {
    private static func run(_ services: [any Service]) async throws {
        try await ServiceGroup(
            services: services, gracefulShutdownSignals: [.sigterm], logger: Logger(label: "test")
        ).run()
    }

    /// Sends the process a signal once the group listens and a condition has come true.
    private struct Killer: Service {
        let condition: @Sendable () -> Bool

        func run() async throws {
            _ = await comesTrue(condition)
            kill(getpid(), SIGTERM)
            try await gracefulShutdown()
        }
    }

    /// Threads add operations all the time. After SIGTERM each of them has run, or was refused with
    /// the reason, and the process ends long before the grace period is over.
    @Test func aQueueUnderLoadEndsOnSIGTERM() async {
        await #expect(processExitsWith: .success) {
            let queue = OperationQueue(name: "requests", width: 4)
            let (ran, refused, added, wrong) = (Tally(), Tally(), Tally(), Tally())
            endSoon(EXIT_FAILURE)
            let load = (0..<4).map { _ in
                Task.detached {
                    while !queue.isShutDown || refused.value < 100 {
                        added.increment()
                        let operation = queue.add {
                            try await Task.sleep(for: .milliseconds(2))
                            ran.increment()
                        }
                        do {
                            try await operation.value
                        } catch let error as OperationCancellation {
                            if case .queueShutDown = error.reason {
                                refused.increment()
                            } else {
                                wrong.increment()
                            }
                        }
                    }
                }
            }
            try await QueueServiceTests.run([
                QueueService(queue, grace: .seconds(3_600)), Killer { ran.value > 200 },
            ])
            for task in load { try await task.value }
            precondition(ran.value + refused.value == added.value && wrong.value == 0)
            precondition(queue.operationCount == 0)
        }
    }

    @Test func aSecondSignalEndsTheGracePeriod() async {
        await #expect(processExitsWith: .success) {
            let queue = OperationQueue(name: "requests")
            let stuck = queue.add { () async throws in try await untilCancelled() }
            endSoon(EXIT_FAILURE)
            Task.detached {
                _ = await comesTrue { queue.isShutDown }
                // Until the service listens, the signal reaches nobody.
                while !stuck.isFinished {
                    kill(getpid(), SIGTERM)
                    try? await Task.sleep(for: .milliseconds(50))
                }
            }
            try await QueueServiceTests.run([
                QueueService(queue, grace: .seconds(3_600)), Killer { stuck.isExecuting },
            ])
            precondition(stuck.isFinished)
        }
    }

    @Test func aShortGracePeriodCancelsTheRest() async {
        await #expect(processExitsWith: .success) {
            let queue = OperationQueue(name: "requests")
            let stuck = queue.add { () async throws in try await untilCancelled() }
            try await QueueServiceTests.run([
                QueueService(queue, grace: .milliseconds(100)), Killer { stuck.isExecuting },
            ])
            precondition(stuck.isCancelled && stuck.isFinished)
        }
    }
}
#endif
