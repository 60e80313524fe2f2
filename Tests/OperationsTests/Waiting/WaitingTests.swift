import Operations
import OperationsTestSupport
import Testing

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct WaitingTests {
    @Test func operationHasLeftQueueWhenWaitReturns() async {
        let wrong = await onThread {
            var wrong = 0
            for _ in 0..<2_000 {
                let queue = OperationQueue()
                let operation = Operation()
                queue.addOperation(operation)
                operation.waitUntilFinished()
                if !operation.isFinished || queue.operationCount != 0 { wrong += 1 }
            }
            return wrong
        }
        #expect(wrong == 0)
    }

    @Test func waitForFinishedOperationReturnsAtOnce() async {
        await onThread {
            let operation = Operation()
            operation.start()
            operation.waitUntilFinished()
        }
    }

    @Test func waitForAllIncludesOperationsAddedMeanwhile() async {
        let runs = Tally()
        await onThread {
            let queue = OperationQueue()
            queue.addOperation {
                for _ in 0..<10 { queue.addOperation { runs.increment() } }
            }
            queue.waitUntilAllOperationsAreFinished()
        }
        #expect(runs.value == 10)
    }

    /// 100 operations wait for an operation of another queue each: more blocked workers than cores.
    @Test func blockedWorkersAreCompensated() async {
        let inner = OperationQueue()
        let outer = OperationQueue()
        let runs = Tally()
        for _ in 0..<100 {
            outer.addOperation {
                let child = BlockOperation { runs.increment() }
                inner.addOperations([child], waitUntilFinished: true)
            }
        }
        await outer.drain()
        #expect(runs.value == 100)
    }

    @Test func manyTasksCanWaitForOneOperation() async {
        let queue = suspendedQueue()
        let operation = Operation()
        queue.addOperation(operation)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<50 { group.addTask { await operation.waitUntilFinished() } }
            queue.isSuspended = false
        }
        #expect(operation.isFinished)
    }
}
