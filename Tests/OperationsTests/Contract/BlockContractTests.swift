import Operations
import OperationsTestKit
import OperationsTestSupport
import Testing

/// Operations made of blocks: rows BO1–BO5.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct BlockContractTests {
    @Test("BO1: blocks run concurrently, also if the operation is started by hand")
    func blocksRunConcurrentlyWhenStartedByHand() async {
        let (arrived, all, timedOut) = (Tally(), Signal(), Tally())
        let operation = BlockOperation()
        for _ in 0..<5 {
            operation.addExecutionBlock {
                if arrived.increment() == 5 {
                    for _ in 0..<5 { all.send() }
                }
                if !all.wait() { timedOut.increment() }
            }
        }
        await onThread { operation.start() }
        #expect(operation.isFinished)
        #expect(timedOut.value == 0)
    }

    @Test("BO1: an operation of several blocks takes one slot and so fits a serial queue")
    func severalBlocksTakeOneSlot() async {
        let queue = serialQueue()
        let (arrived, all, timedOut) = (Tally(), Signal(), Tally())
        let operation = BlockOperation()
        for _ in 0..<4 {
            operation.addExecutionBlock {
                if arrived.increment() == 4 {
                    for _ in 0..<4 { all.send() }
                }
                if !all.wait() { timedOut.increment() }
            }
        }
        queue.addOperation(operation)
        queue.addOperation { if !operation.isFinished { timedOut.increment() } }
        await queue.drain()
        #expect(timedOut.value == 0)
    }

    @Test("BO2: a block may be added until the operation starts, also in a queue or if cancelled")
    func blocksMayBeAddedUntilTheOperationStarts() async {
        let queue = suspendedQueue()
        let runs = Tally()
        let (waiting, cancelled) = (BlockOperation {}, BlockOperation {})
        queue.addOperation(waiting)
        waiting.addExecutionBlock { runs.increment() }
        cancelled.cancel()
        cancelled.addExecutionBlock { runs.increment() }
        queue.addOperation(cancelled)
        queue.isSuspended = false
        await queue.drain()
        #expect(runs.value == 1)
    }

    @Test("BO2: adding a block to an executing operation stops the program")
    func addingABlockToAnExecutingOperationTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let operation = BlockOperation()
            operation.name = "filter"
            operation.addExecutionBlock { operation.addExecutionBlock {} }
            await OperationQueue().addOperations([operation], waitUntilFinished: true)
        }
        expect(
            result, says: "'filter' (executing)", "takes no more blocks: add them before it starts")
    }

    @Test("BO2: adding a block to a cancelled, finished operation stops the program")
    func addingABlockToACancelledFinishedOperationTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let operation = BlockOperation {}
            operation.name = "filter"
            operation.cancel()
            operation.start()
            operation.addExecutionBlock {}
        }
        expect(result, says: "'filter'", "takes no more blocks")
    }

    @Test("BO3: executionBlocks lists all blocks in the order added, and they can be called")
    func executionBlocksListsAllBlocksInOrder() {
        let order = TestRecorder<Int>()
        let operation = BlockOperation { order.record(0) }
        for index in 1..<5 { operation.addExecutionBlock { order.record(index) } }
        for block in operation.executionBlocks { block() }
        #expect(order.events == [0, 1, 2, 3, 4])
        #expect(!operation.isFinished)
    }

    @Test("BO3: an operation without blocks finishes in a queue, and its completion block runs")
    func operationWithoutBlocksFinishesInAQueue() async {
        let queue = OperationQueue()
        let operation = BlockOperation()
        await withCheckedContinuation { continuation in
            operation.completionBlock = { continuation.resume() }
            queue.addOperation(operation)
        }
        #expect(operation.isFinished)
    }

    @Test("BO4: an operation that its first block cancels still runs all its blocks")
    func blockThatCancelsItsOperationSkipsNoOtherBlock() async {
        let runs = Tally()
        let operation = BlockOperation()
        operation.addExecutionBlock { [unowned operation] in
            operation.cancel()
            runs.increment()
        }
        for _ in 0..<100 { operation.addExecutionBlock { runs.increment() } }
        await OperationQueue().addOperations([operation], waitUntilFinished: true)
        #expect(operation.isCancelled)
        #expect(runs.value == 101)
    }

    @Test("BO5: blocks remain after the end, and each call of main() runs them again")
    func blocksRemainAfterTheEndAndMainRunsThemAgain() async {
        let runs = Tally()
        let operation = BlockOperation { runs.increment() }
        operation.addExecutionBlock { runs.increment() }
        await OperationQueue().addOperations([operation], waitUntilFinished: true)
        #expect(operation.executionBlocks.count == 2)
        await onThread {
            operation.main()
            operation.main()
        }
        #expect(runs.value == 6)
        #expect(operation.isFinished && !operation.isExecuting)
    }
}
