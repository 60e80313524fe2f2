import Operations
import OperationsTestKit
import OperationsTestSupport
import Testing

#if canImport(Glibc)
import Glibc
#endif

#if os(Linux)
/// The thread's niceness inside `main()`. Raising it is allowed to everybody.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct ThreadPriorityTests {
    private static func niceness() -> Int32 {
        // On Linux the "process" 0 is the calling thread.
        getpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0)
    }

    @Test(arguments: [(0.0, 19), (0.25, 10), (0.5, 0)])
    func itIsInForceDuringMain(priority: Double, expected: Int32) async {
        let seen = Recorder<Int32>()
        let operation = BlockOperation { seen.record(Self.niceness()) }
        operation.threadPriority = priority
        await OperationQueue().addOperations([operation], waitUntilFinished: true)
        #expect(seen.events == [expected])
    }

    @Test func operationsAndCompletionBlocksAfterwardsRunAsUsual() async {
        let seen = Recorder<Int32>()
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
}
#endif
