import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations

/// The progress of a queue that counts what is added.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct ProgressOfAdditionsTests {
    private struct Failure: Error {}

    /// A suspended queue that counts.
    private func countingQueue() -> OperationQueue {
        let queue = suspendedQueue()
        queue.progressCountsAdditions = true
        return queue
    }

    private func counts(_ queue: OperationQueue) -> [Int64] {
        [queue.progress.completedUnitCount, queue.progress.totalUnitCount]
    }

    @Test func everyWayOfAddingCounts() async throws {
        let queue = countingQueue()
        #expect(queue.progressCountsAdditions && counts(queue) == [0, 0])
        queue.addOperation {}
        queue.addOperation(BlockOperation {})
        await queue.addOperations([Operation(), BlockOperation {}], waitUntilFinished: false)
        queue.add { 1 }
        queue.add { () async in await Task.yield() }
        queue.add { () throws in throw Failure() }
        queue.add(.retry(2, backoff: .constant(.zero))) { () throws in throw Failure() }
        queue.addBarrierBlock {}
        #expect(counts(queue) == [0, 8])
        queue.isSuspended = false
        await queue.drain()
        #expect(counts(queue) == [8, 8])
        #expect(queue.progress.isFinished && queue.progress.fractionCompleted == 1)
        queue.progressCountsAdditions = false
        queue.addOperation {}
        await queue.drain()
        #expect(queue.progress.totalUnitCount == 8)
    }

    @Test func whatIsCancelledCompletesItsUnit() async throws {
        let queue = countingQueue()
        for _ in 0..<10 { queue.addOperation {} }
        queue.add { () async throws in try await untilCancelled() }
        let retried = queue.add(.retry(3, backoff: .constant(.seconds(300)))) { () throws in
            throw Failure()
        }
        let delayed = queue.add(.delay(.seconds(300))) {}
        queue.addOperation(Starting())
        #expect(counts(queue) == [0, 14])
        let first = queue.operations.prefix(5)
        for operation in first { operation.cancel() }
        for operation in first { await operation.finished() }
        queue.isSuspended = false
        #expect(await comesTrue { retried.status.has(.onHold) })
        queue.cancelAllOperations()
        await queue.drain()
        #expect(delayed.isCancelled)
        #expect(counts(queue) == [14, 14])
    }

    /// An operation that overrides `start()`, and does not call `super`.
    private final class Starting: Operation, @unchecked Sendable {
        private let isOver = Tally()
        override var isFinished: Bool { isOver.value > 0 }
        override func start() {
            willChangeValue(forKey: "isFinished")
            isOver.increment()
            didChangeValue(forKey: "isFinished")
        }
    }

    @Test func piecesOfTasksDoNotCount() async {
        let queue = countingQueue()
        queue.isSuspended = false
        let task = Task(executorPreference: queue.executor) { await Task.yield() }
        await task.value
        await queue.drain()
        #expect(counts(queue) == [0, 0])
    }

    @Test func manyThreadsAdd() async {
        let queue = OperationQueue()
        queue.progressCountsAdditions = true
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask { for _ in 0..<1_000 { queue.addOperation {} } }
            }
        }
        await queue.drain()
        #expect(counts(queue) == [4_000, 4_000])
    }

    // MARK: While nothing is counted

    /// Whether the queue does nothing for its progress around its operations.
    private func isPlain(_ queue: OperationQueue) -> Bool {
        queue.instrumentation.load(ordering: .relaxed) == 0
            && queue.snapshot { !$0.records.isInstrumented && $0.takesBlocks }
    }

    @Test func progressCostsNothingWhileItsTotalIsZero() async {
        let queue = OperationQueue()
        let progress = queue.progress
        #expect(isPlain(queue))
        for total: Int64 in [2, 7, -1] {
            progress.totalUnitCount = total
            #expect(!isPlain(queue))
            progress.totalUnitCount = 0
            #expect(isPlain(queue))
        }
        queue.progressCountsAdditions = true
        queue.addOperation {}
        await queue.drain()
        #expect(progress.completedUnitCount == 1 && !isPlain(queue))
        queue.progressCountsAdditions = false
        progress.totalUnitCount = 0
        #expect(isPlain(queue))
    }

    /// Several threads change the total. Whichever comes last, the queue knows what holds then.
    @Test func queueKnowsWhetherItsProgressCounts() async {
        let queue = OperationQueue()
        let progress = queue.progress
        for last: Int64 in [0, 1, 0, 1] {
            await withTaskGroup { group in
                for thread: Int64 in 0..<4 {
                    group.addTask {
                        for index in 0..<500 / Int64(slowness) {
                            progress.totalUnitCount = (index + thread) % 2
                        }
                    }
                }
            }
            #expect(isPlain(queue) == (progress.totalUnitCount == 0))
            progress.totalUnitCount = last
            #expect(isPlain(queue) == (last == 0))
        }
    }

    @Test func progressMayOutliveItsQueue() {
        var queue: OperationQueue? = OperationQueue()
        let progress = queue?.progress
        weak let gone = queue
        queue = nil
        progress?.totalUnitCount = 3
        progress?.totalUnitCount = 0
        #expect(gone == nil && progress?.totalUnitCount == 0)
    }
}
