#if ServiceLifecycle
import Foundation
import InMemoryLogging
import Logging
import Operations
import OperationsRuntime
import OperationsTestSupport
import ServiceLifecycle
import Testing
import UnixSignals

@testable import OperationsServiceLifecycle

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

    /// The second signal comes while the last of three services shuts down; the turn of the others
    /// has not come.
    @Test func aSecondSignalEndsTheGraceOfAllServices() async {
        await #expect(processExitsWith: .success) {
            let queues = ["first", "second", "third"].map { OperationQueue(name: $0) }
            let stuck = queues.map { queue in
                queue.add { () async throws in try await untilCancelled() }
            }
            endSoon(EXIT_FAILURE)
            Task.detached {
                _ = await comesTrue { queues[2].isShutDown }
                precondition(!queues[0].isShutDown)
                // The system makes one signal of two that are pending together.
                while !stuck[2].isFinished {
                    kill(getpid(), SIGTERM)
                    try? await Task.sleep(for: .milliseconds(50))
                }
            }
            try await QueueServiceTests.run(
                queues.map { QueueService($0, grace: .seconds(3_600)) } + [
                    Killer { stuck.allSatisfy(\.isExecuting) }
                ])
            precondition(stuck.allSatisfy { $0.isFinished && $0.isCancelled })
        }
    }

    @Test func queuesOfOneServiceShutDownTogether() async {
        await #expect(processExitsWith: .success) {
            let queues = ["first", "second"].map { OperationQueue(name: $0) }
            let stuck = queues.map { queue in
                queue.add { () async throws in try await untilCancelled() }
            }
            endSoon(EXIT_FAILURE)
            Task.detached {
                _ = await comesTrue { queues.allSatisfy(\.isShutDown) }
                precondition(!stuck.contains { $0.isFinished })
                while !stuck.allSatisfy(\.isFinished) {
                    kill(getpid(), SIGTERM)
                    try? await Task.sleep(for: .milliseconds(50))
                }
            }
            try await QueueServiceTests.run([
                QueueService(queues, grace: .seconds(3_600)),
                Killer { stuck.allSatisfy(\.isExecuting) },
            ])
            precondition(stuck.allSatisfy { $0.isFinished && $0.isCancelled })
        }
    }

    @Test func theLogSaysWhatIsLeftAtTheEndOfTheGracePeriod() async {
        await #expect(processExitsWith: .success) {
            let log = InMemoryLogHandler()
            let queues = ["pictures", "mails"].map { OperationQueue(name: $0) }
            let (mayEnd, hasEnded) = (Signal(), Tally())
            let deaf = queues[0].add("deaf") {
                mayEnd.wait()
                hasEnded.increment()
            }
            queues[1].add("waits", after: deaf) {}
            endSoon(EXIT_FAILURE)
            Task.detached {
                _ = await comesTrue { log.entries.contains { $0.level == .warning } }
                mayEnd.send()
            }
            try await QueueServiceTests.run([
                QueueService(
                    queues, grace: .milliseconds(100), logger: Logger(label: "test") { _ in log }),
                Killer { deaf.isExecuting },
            ])
            precondition(hasEnded.value == 1)
            let line = log.entries.first { $0.level == .warning }.map { "\($0.message)" } ?? ""
            precondition(line.contains("left at the end of the grace period: "), line)
            precondition(line.contains("'deaf'") && !line.contains("\n"), line)
        }
    }
}

struct ProcessShutdownTests {
    private final class Time: Sendable {
        let now = Locked(ContinuousClock.now)
        func pass(_ duration: Duration) { now.withLock { $0 += duration } }
    }

    @Test func graceCountsFromTheFirstService() {
        let (time, forgotten) = (Time(), Tally())
        let shutdown = ProcessShutdown {
            time.now.withLock { $0 }
        } forgetting: {
            forgotten.increment()
        }
        #expect(shutdown.begin(grace: .seconds(4)) == .seconds(4))
        time.pass(.seconds(3))
        // Two at a time, and one after the other.
        #expect(shutdown.begin(grace: .seconds(20)) == .seconds(17))
        shutdown.end()
        shutdown.end()
        time.pass(.seconds(30))
        #expect(shutdown.begin(grace: .seconds(20)) == .zero)
        time.pass(.seconds(1_000))
        #expect(shutdown.begin(grace: .seconds(20)) == .zero)
        shutdown.end()
        shutdown.end()
        #expect(forgotten.value == 0)
        // Another group, later.
        time.pass(.seconds(61))
        #expect(shutdown.begin(grace: .seconds(20)) == .seconds(20))
        #expect(forgotten.value == 1)
        shutdown.end()
    }
}
#endif
