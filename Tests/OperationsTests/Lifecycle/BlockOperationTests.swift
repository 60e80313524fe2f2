import Operations
import OperationsTestSupport
import Testing

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct BlockOperationTests {
    @Test func finishesAtOnceWithoutBlocks() {
        let operation = BlockOperation()
        #expect(operation.executionBlocks.isEmpty)
        operation.start()
        #expect(operation.isFinished)
    }

    @Test func finishesWhenAllBlocksHaveFinished() async {
        let runs = Tally()
        let operation = BlockOperation { runs.increment() }
        for _ in 0..<200 { operation.addExecutionBlock { runs.increment() } }
        #expect(operation.executionBlocks.count == 201)
        await OperationQueue().addOperations([operation], waitUntilFinished: true)
        #expect(runs.value == 201)
    }

    /// Each block waits for all others, so the operation ends only if they run at the same time.
    @Test func blocksRunConcurrently() async {
        let operation = BlockOperation()
        let arrived = Tally()
        let (all, timedOut) = (Signal(), Tally())
        for _ in 0..<7 {
            operation.addExecutionBlock {
                if arrived.increment() == 7 {
                    for _ in 0..<7 { all.send() }
                }
                if !all.wait() { timedOut.increment() }
            }
        }
        await OperationQueue().addOperations([operation], waitUntilFinished: true)
        #expect(timedOut.value == 0)
    }

    @Test func cancellingWhileRunningSkipsNoBlock() async {
        let runs = Tally()
        let operation = BlockOperation()
        for _ in 0..<10 {
            operation.addExecutionBlock { [unowned operation] in
                operation.cancel()
                runs.increment()
            }
        }
        operation.start()
        #expect(runs.value == 10)
    }

    @Test func callingMainDirectlyRunsBlocksAgain() {
        let runs = Tally()
        let operation = BlockOperation { runs.increment() }
        operation.start()
        operation.main()
        #expect(runs.value == 2)
    }
}
