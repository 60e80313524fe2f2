#if DefaultExecutor
import Operations
import OperationsDefaultExecutor
import OperationsRuntime
import OperationsTestSupport
import Testing

private var isOnWorker: Bool { ThreadContext.existing?.activeWorker != nil }

/// Each test runs in a process of its own, for which it chooses the executor.
@Suite(.timeLimit(.minutes(5)))
struct DefaultExecutorTests {
    @Test func tasksThatBlockHoldUpNoOtherTask() async {
        await #expect(processExitsWith: .success) {
            WorkerTaskExecutor.installAsDefault()
            WorkerTaskExecutor.installAsDefault()
            // Each waits until all have come.
            let (arrived, all) = (Tally(), Latch())
            await withTaskGroup { group in
                for _ in 0..<64 {
                    group.addTask {
                        if arrived.increment() == 64 { all.open() }
                        all.wait()
                    }
                }
            }
            precondition(arrived.value == 64)
        }
    }

    @Test func everyKindOfTaskRunsOnWorkers() async {
        actor Counter {
            private(set) var count = 0
            func increment() {
                precondition(isOnWorker)
                count += 1
            }
        }
        await #expect(processExitsWith: .success) {
            WorkerTaskExecutor.installAsDefault()
            let counter = Counter()
            await Task.detached {
                precondition(isOnWorker)
                await Task.yield()
                precondition(isOnWorker)
                // The sleeps are under test: Swift's timers must bring the task back to a worker.
                try? await Task.sleep(for: .milliseconds(1))
                precondition(isOnWorker)
                try? await Task.sleep(for: .milliseconds(1), clock: .suspending)
                precondition(isOnWorker)
                await counter.increment()
                await MainActor.run { precondition(!isOnWorker) }
                precondition(isOnWorker)
            }.value
            let count = await counter.count
            precondition(count == 1)
        }
    }

    @Test func operationsRunAsBefore() async {
        await #expect(processExitsWith: .success) {
            WorkerTaskExecutor.installAsDefault()
            let queue = OperationQueue(width: 4)
            let sum = try await withThrowingTaskGroup { group in
                for number in 0..<1_000 {
                    group.addTask {
                        try await queue.add {
                            await Task.yield()
                            return number
                        }.value
                    }
                }
                return try await group.reduce(0, +)
            }
            precondition(sum == 499_500)
        }
    }

    @Test func cancelledSleepEnds() async {
        await #expect(processExitsWith: .success) {
            WorkerTaskExecutor.installAsDefault()
            // The sleep is under test; the hour only bounds a failure.
            let task = Task.detached { try await Task.sleep(for: .seconds(3600)) }
            task.cancel()
            let result = await task.result
            guard case .failure = result else { fatalError("the sleep did not end") }
        }
    }
}
#endif
