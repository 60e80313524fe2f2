import Operations
import OperationsTestSupport
import Testing

/// Traps that the rows name and ``MisuseTests`` does not cover: rows O4, O22, Q1, Q6 and Q12, and
/// decision 3.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct MisuseContractTests {
    @Test("O4: starting an operation that another thread runs stops the program")
    func startingAnOperationOnASecondThreadTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let (began, never) = (Signal(), Signal())
            let operation = BlockOperation {
                began.send()
                never.wait()
            }
            operation.name = "filter"
            startTestThread { operation.start() }
            await onThread { _ = began.wait() }
            operation.start()
        }
        expect(result, says: "'filter' (executing)", "start an operation only once")
    }

    @Test("O4: starting an operation that a queue runs stops the program")
    func startingAnOperationThatAQueueRunsTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let (began, never) = (Signal(), Signal())
            let operation = BlockOperation {
                began.send()
                never.wait()
            }
            operation.name = "filter"
            let queue = OperationQueue()
            queue.addOperation(operation)
            await onThread { _ = began.wait() }
            operation.start()
        }
        expect(result, says: "'filter' (executing)", "start an operation only once")
    }

    @Test("O4: starting an operation that waits in a queue for a dependency stops the program")
    func startingAnOperationThatWaitsInAQueueTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let operation = named("filter")
            operation.addDependency(named("download"))
            OperationQueue().addOperation(operation)
            operation.start()
        }
        expect(result, says: "'filter'", "is in a queue, which will start it")
    }

    @Test("O4, O32: starting an operation whose isReady override returns false stops the program")
    func startingAgainstAnIsReadyOverrideTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            final class NeverReady: Operation, @unchecked Sendable {
                override var isReady: Bool { false }
            }
            let operation = NeverReady()
            operation.name = "filter"
            operation.start()
        }
        expect(result, says: "'filter'", "is not ready", "isReady")
    }

    @Test("Q1: adding an operation to its own queue again stops the program")
    func addingAnOperationTwiceToOneQueueTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = suspendedQueue()
            let operation = named("filter")
            queue.addOperation(operation)
            queue.addOperation(operation)
        }
        expect(result, says: "'filter'", "is in a queue already: make a new operation")
    }

    @Test("Q1: adding an operation that its queue runs stops the program")
    func addingARunningOperationTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let (began, never) = (Signal(), Signal())
            let operation = BlockOperation {
                began.send()
                never.wait()
            }
            operation.name = "filter"
            OperationQueue().addOperation(operation)
            await onThread { _ = began.wait() }
            OperationQueue().addOperation(operation)
        }
        expect(result, says: "'filter' (executing)", "already")
    }

    @Test("Q1: adding an array with a finished operation stops the program")
    func addingAnArrayWithAFinishedOperationTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let finished = named("filter")
            finished.start()
            await OperationQueue().addOperations(
                [named("a"), finished, named("b")], waitUntilFinished: false)
        }
        expect(result, says: "'filter' (finished)", "runs only once")
    }

    @Test("Q1: adding an array with an operation of another queue stops the program")
    func addingAnArrayWithAnEnqueuedOperationTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = suspendedQueue()
            let taken = named("filter")
            queue.addOperation(taken)
            await OperationQueue().addOperations([named("a"), taken], waitUntilFinished: false)
        }
        expect(result, says: "'filter'", "is in a queue already")
    }

    @Test("Q6: the most negative width stops the program")
    func mostNegativeWidthTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = OperationQueue()
            queue.name = "Download queue"
            queue.maxConcurrentOperationCount = .min
        }
        expect(result, says: "of queue 'Download queue' cannot be \(Int.min)", "use 0 or more")
    }

    @Test("O22: a nested operation that waits for its outer operation stops the program")
    func nestedWaitForTheOuterOperationTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let outer = BlockOperation()
            outer.name = "filter"
            outer.addExecutionBlock {
                BlockOperation { outer.waitUntilFinished() }.start()
            }
            await OperationQueue().addOperations([outer], waitUntilFinished: true)
        }
        expect(result, says: "'filter' (executing) waits for itself and would never finish")
    }

    @Test("O22, BO1: one of several blocks that waits for its operation stops the program")
    func blockThatWaitsForItsOperationTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let operation = BlockOperation()
            operation.name = "filter"
            for _ in 0..<4 {
                operation.addExecutionBlock { operation.waitUntilFinished() }
            }
            await OperationQueue().addOperations([operation], waitUntilFinished: true)
        }
        expect(result, says: "'filter' (executing) waits for itself and would never finish")
    }

    @Test("Q12, Q13: an operation may wait for a new one of its own queue if a slot is free")
    func operationMayWaitForANewOneIfASlotIsFree() async {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 2
        let runs = Tally()
        queue.addOperation {
            queue.addOperations([BlockOperation { runs.increment() }], waitUntilFinished: true)
            runs.increment()
        }
        await queue.drain()
        #expect(runs.value == 2)
    }

    @Test("Q12: an async body that waits for all operations of its own queue stops the program")
    func asyncBodyThatWaitsForItsOwnQueueTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = OperationQueue()
            queue.name = "Download queue"
            queue.addOperation(
                TypedOperation<Void> { await queue.waitUntilAllOperationsAreFinished() })
            await queue.waitUntilAllOperationsAreFinished()
        }
        expect(result, says: "waits for all operations of its own queue 'Download queue'")
    }
}
