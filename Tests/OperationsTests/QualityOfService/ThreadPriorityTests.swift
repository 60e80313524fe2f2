import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations
@testable import OperationsRuntime

#if canImport(Glibc)
import Glibc
#endif

#if os(Linux)
/// The niceness of the thread inside `main()`. Every process may raise a niceness.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct ThreadPriorityTests {
    private static func niceness() -> Int32 {
        // On Linux the "process" 0 is the calling thread.
        getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0)
    }

    @Test(arguments: [(0.0, 19), (0.25, 10), (0.5, 0)])
    func itIsInForceDuringMain(priority: Double, expected: Int32) async {
        let seen = TestRecorder<Int32>()
        let operation = BlockOperation { seen.record(Self.niceness()) }
        operation.threadPriority = priority
        await OperationQueue().addOperations([operation], waitUntilFinished: true)
        #expect(seen.events == [expected])
    }

    @Test func operationsAndCompletionBlocksAfterwardsRunAsUsual() async {
        let seen = TestRecorder<Int32>()
        let queue = serialQueue()
        for index in 0..<20 {
            let operation = BlockOperation { if index % 2 == 1 { seen.record(Self.niceness()) } }
            if index % 2 == 0 { operation.threadPriority = 0.1 }
            queue.addOperation(operation)
        }
        await queue.drain()
        await withCheckedContinuation { continuation in
            let operation = Operation()
            operation.threadPriority = 0
            operation.completionBlock = {
                seen.record(Self.niceness())
                continuation.resume()
            }
            queue.addOperation(operation)
        }
        #expect(seen.events == Array(repeating: 0, count: 11))
    }

    // MARK: Threads made for one operation

    /// For operations of a claim and operations that are claimed alone, with one block and with
    /// several.
    @Test(arguments: [true, false], [1, 3])
    func theThreadEndsWithTheOperation(usesFastPath: Bool, blocks: Int) async {
        let seen = TestRecorder<(niceness: Int32, thread: Int32)>()
        let work: @Sendable () -> Void = {
            seen.record((Self.niceness(), ThreadProbe()?.id ?? 0))
        }
        let operation =
            usesFastPath ? BlockOperation(block: work) : SubclassedOperation(block: work)
        for _ in 1..<blocks { operation.addExecutionBlock(work) }
        operation.threadPriority = 0
        operation.qualityOfService = .utility
        await OperationQueue().addOperations([operation], waitUntilFinished: true)
        #expect(seen.events.map(\.niceness) == Array(repeating: 19, count: blocks))
        let threads = Set(seen.events.map { Int($0.thread) })
        let haveEnded = await comesTrue { threads.isDisjoint(with: poolThreads().map(\.id)) }
        #expect(haveEnded)
    }

    @Test func cancelledOperationNeedsNoThread() async {
        let ran = Tally()
        let operation = BlockOperation { ran.increment() }
        operation.threadPriority = 0
        operation.cancel()
        await OperationQueue().addOperations([operation], waitUntilFinished: true)
        #expect(ran.value == 0)
    }

    /// Each operation blocks until the last one runs, so the pool has to replace all others.
    @Test func threadThatBlocksIsReplaced() async {
        let count = 2 * WorkerPool.cores + 2
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = count
        let last = Signal()
        for index in 0..<count {
            let operation = BlockOperation {
                if index == count - 1 {
                    for _ in 1..<count { last.send() }
                } else {
                    last.wait()
                }
            }
            operation.threadPriority = 0.4
            queue.addOperation(operation)
        }
        await queue.drain()
    }

    /// Each operation waits in the library for an operation of another queue.
    @Test func threadThatWaitsIsReplaced() async {
        let (outer, inner) = (OperationQueue(), OperationQueue())
        outer.maxConcurrentOperationCount = 20
        let ran = Tally()
        for _ in 0..<20 {
            let operation = BlockOperation {
                let awaited = BlockOperation { ran.increment() }
                inner.addOperation(awaited)
                awaited.waitUntilFinished()
            }
            operation.threadPriority = 0.3
            outer.addOperation(operation)
        }
        await outer.drain()
        #expect(ran.value == 20)
    }

    @TaskLocal private static var number = 0

    @Test func theThreadHasTheTaskLocalValuesOfAScope() async throws {
        let seen = TestRecorder<Int>()
        try await Self.$number.withValue(7) {
            try await withOperationQueue { queue in
                let operation = BlockOperation { seen.record(Self.number) }
                operation.threadPriority = 0.2
                queue.addOperation(operation)
            }
        }
        #expect(seen.events == [7])
    }

    @Test func operationStartedByHandDoesNotChangeItsWorker() async {
        let seen = TestRecorder<Int32>()
        let queue = serialQueue()
        queue.addOperation {
            let inner = BlockOperation { seen.record(Self.niceness()) }
            inner.threadPriority = 0
            inner.start()
            seen.record(Self.niceness())
        }
        await queue.drain()
        await onThread {
            let inner = BlockOperation { seen.record(Self.niceness()) }
            inner.threadPriority = 0
            inner.start()
        }
        #expect(seen.events == [0, 0, 19])
    }
}

/// A worker claims the operation alone and calls `start()`.
private final class SubclassedOperation: BlockOperation, @unchecked Sendable {}
#endif
