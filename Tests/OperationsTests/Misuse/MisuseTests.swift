import Dispatch
import Operations
import OperationsTestSupport
import Testing

/// Each mistake stops the program with a message that names operation, state and remedy.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct MisuseTests {
    @Test func startingUnreadyOperationTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let operation = named("filter")
            operation.addDependency(named("download"))
            operation.start()
        }
        expect(
            result,
            says:
                "'filter' (in no queue) is not ready: it waits for 'download'; start it when isReady"
        )
    }

    @Test func startingEnqueuedOperationTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = OperationQueue()
            queue.isSuspended = true
            let operation = named("filter")
            queue.addOperation(operation)
            operation.start()
        }
        expect(result, says: "'filter' (ready) is in a queue, which will start it")
    }

    @Test func startingOperationWithFalseIsReadyOverrideTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            final class NeverReady: Operation, @unchecked Sendable {
                override var isReady: Bool { false }
            }
            NeverReady().start()
        }
        expect(result, says: "is not ready: its isReady is overridden and returns false; start")
    }

    @Test func startingOperationOnTwoThreadsTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            // `start()` reads `isReady` between the check of the state and the start itself.
            final class Overtaken: Operation, @unchecked Sendable {
                let began = Signal()
                let calls = Tally()
                override var isReady: Bool {
                    if calls.increment() == 1 {
                        DispatchQueue.global().async { self.start() }
                        began.wait()
                    }
                    return true
                }
                override func main() {
                    began.send()
                    while !isCancelled {}
                }
            }
            let operation = Overtaken()
            operation.name = "filter"
            operation.start()
        }
        expect(result, says: "'filter' (executing) was started by two threads at the same time")
    }

    @Test func startingOperationTwiceTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            final class Recursive: Operation, @unchecked Sendable {
                override func main() { start() }
            }
            Recursive().start()
        }
        expect(result, says: "(executing) is already executing: start an operation only once")
    }

    @Test func addingOperationToTwoQueuesTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let (a, b) = (OperationQueue(), OperationQueue())
            a.isSuspended = true
            let operation = named("filter")
            a.addOperation(operation)
            b.addOperation(operation)
        }
        expect(result, says: "'filter' (ready) is in a queue already: make a new operation")
    }

    @Test func addingOperationTwiceInOneArrayTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let operation = named("filter")
            await OperationQueue().addOperations([operation, operation], waitUntilFinished: false)
        }
        expect(
            result,
            says: "'filter' is given twice in one array of operations: make a new operation")
    }

    @Test func addingFinishedOperationTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let operation = named("filter")
            operation.start()
            OperationQueue().addOperation(operation)
        }
        expect(result, says: "'filter' (finished) has finished, and runs only once")
    }

    @Test func addingExecutingOperationTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            final class Restless: Operation, @unchecked Sendable {
                override func main() { OperationQueue().addOperation(self) }
            }
            let operation = Restless()
            operation.name = "filter"
            operation.start()
        }
        expect(result, says: "'filter' (executing) is executing already: add it to a queue or")
    }

    @Test func dependingOnItselfTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let operation = named("filter")
            operation.addDependency(operation)
        }
        expect(result, says: "'filter' (in no queue) cannot depend on itself")
    }

    @Test func negativeWidthTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = OperationQueue()
            queue.name = "Download queue"
            queue.maxConcurrentOperationCount = -2
        }
        expect(
            result,
            says:
                "maxConcurrentOperationCount of queue 'Download queue' cannot be -2: use 0 or more")
    }

    @Test func addingBlockAfterStartTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let operation = BlockOperation {}
            operation.name = "filter"
            operation.start()
            operation.addExecutionBlock {}
        }
        expect(result, says: "'filter' (finished) takes no more blocks: add them before it starts")
    }

    @Test func waitingForItselfTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            final class Narcissus: Operation, @unchecked Sendable {
                override func main() { waitUntilFinished() }
            }
            let operation = Narcissus()
            operation.name = "filter"
            let queue = OperationQueue()
            queue.addOperation(operation)
            await queue.waitUntilAllOperationsAreFinished()
        }
        expect(result, says: "'filter' (executing) waits for itself and would never finish")
    }

    @Test func waitingForOwnQueueTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = OperationQueue()
            queue.name = "Download queue"
            queue.addOperation { queue.waitUntilAllOperationsAreFinished() }
            await queue.waitUntilAllOperationsAreFinished()
        }
        expect(result, says: "waits for all operations of its own queue 'Download queue'")
    }

    @Test func waitingForItselfWhenStartedManuallyTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            final class Narcissus: Operation, @unchecked Sendable {
                override func main() { waitUntilFinished() }
            }
            Narcissus().start()
        }
        expect(result, says: "waits for itself and would never finish")
    }

    @Test func waitingForItselfInAsyncBodyTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            final class Narcissus: TypedOperation<Void>, @unchecked Sendable {
                override func main() async throws { await waitUntilFinished() }
            }
            await OperationQueue().addOperations([Narcissus()], waitUntilFinished: true)
        }
        expect(result, says: "waits for itself and would never finish")
    }
}
