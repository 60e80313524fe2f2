import Operations
import OperationsTestSupport
import Testing

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct CancellationTests {
    @Test func cancelledOperationLeavesSuspendedQueue() async {
        let queue = suspendedQueue()
        let ran = Tally()
        let operation = BlockOperation { ran.increment() }
        queue.addOperation(operation)
        operation.cancel()
        await operation.waitUntilFinished()
        #expect(queue.operationCount == 0)
        #expect(ran.value == 0)
    }

    @Test func cancelledOperationDoesNotWaitForSlot() async {
        let queue = serialQueue()
        let proceed = Signal()
        queue.addOperation { proceed.wait() }
        let second = Operation()
        queue.addOperation(second)
        second.cancel()
        await second.waitUntilFinished()
        #expect(queue.operationCount == 1)
        proceed.send()
        await queue.drain()
    }

    @Test func cancelledOperationMayBeAdded() async {
        let ran = Tally()
        let operation = BlockOperation { ran.increment() }
        operation.cancel()
        let queue = OperationQueue()
        queue.addOperation(operation)
        await queue.drain()
        #expect(operation.isFinished)
        #expect(ran.value == 0)
    }

    @Test func isReadyOverrideCannotHoldBackCancelledOperation() async {
        final class NeverReady: Operation, @unchecked Sendable {
            override var isReady: Bool { false }
        }
        let queue = OperationQueue()
        let operation = NeverReady()
        queue.addOperation(operation)
        operation.cancel()
        await queue.drain()
        #expect(operation.isFinished)
    }

    @Test func mainSeesCancellation() async {
        final class Loop: Operation, @unchecked Sendable {
            let began = Signal()
            override func main() {
                began.send()
                while !isCancelled {}
            }
        }
        let operation = Loop()
        let queue = OperationQueue()
        queue.addOperation(operation)
        #expect(await operation.began.arrives())
        operation.cancel()
        await queue.drain()
        #expect(operation.isFinished)
    }

    /// The race in which a dependent runs while its chain is being cancelled.
    @Test func cancelAllNeverLetsDependentStart() async {
        for _ in 0..<2_000 {
            let queue = suspendedQueue()
            let ran = Tally()
            let operations = (0..<5).map { _ in BlockOperation { ran.increment() } }
            for (later, earlier) in zip(operations.dropFirst(), operations) {
                later.addDependency(earlier)
            }
            await queue.addOperations(operations, waitUntilFinished: false)
            queue.cancelAllOperations()
            queue.isSuspended = false
            await queue.drain()
            #expect(ran.value == 0)
        }
    }

    @Test func cancelAllReachesOverridesThatOmitSuper() async {
        final class Stubborn: Operation, @unchecked Sendable {
            override func cancel() {}
        }
        let queue = suspendedQueue()
        let operation = Stubborn()
        queue.addOperation(operation)
        queue.cancelAllOperations()
        await queue.drain()
        #expect(operation.isCancelled && operation.isFinished)
    }

    @Test func suspendedQueueReleasesCancelledOperations() async {
        final class Watched: Operation, @unchecked Sendable {
            let alive: Tally
            let gone: Tally
            init(_ alive: Tally, _ gone: Tally) {
                self.alive = alive
                self.gone = gone
                alive.increment()
            }
            deinit { gone.increment() }
        }
        let (alive, gone) = (Tally(), Tally())
        let queue = suspendedQueue()
        for _ in 0..<10_000 { queue.addOperation(Watched(alive, gone)) }
        queue.cancelAllOperations()
        await queue.drain()
        #expect(alive.value == 10_000)
        #expect(gone.value > 9_800, "at most a few stale entries may remain")
    }
}
