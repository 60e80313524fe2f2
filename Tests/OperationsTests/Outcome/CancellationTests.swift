import Operations
import OperationsRuntime
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

    /// Needs a resource. Its `cancel()` also cancels what waits for that resource.
    private final class Ticket: Operation, @unchecked Sendable {
        let isFree = Locked(false)
        let followers = Locked<[Operation]>([])
        /// Called when the operation counts as cancelled, and the followers do not.
        var between: () -> Void = {}

        override var isReady: Bool { isFree.withLock { $0 } && super.isReady }

        func free(announced: Bool) {
            isFree.withLock { $0 = true }
            if announced { didChangeValue(forKey: "isReady") }
        }

        override func cancel() {
            super.cancel()
            between()
            for follower in followers.withLock({ $0 }) { follower.cancel() }
        }
    }

    /// As in Foundation: an override of `isReady` keeps a cancelled operation, too.
    @Test(arguments: [true, false])
    func isReadyOverrideKeepsCancelledOperation(announces: Bool) async {
        let (queue, work) = (OperationQueue(), OperationQueue())
        let (ticket, ran) = (Ticket(), Tally())
        ticket.name = "ticket"
        let follower = BlockOperation { ran.increment() }
        follower.addDependency(ticket)
        ticket.followers.withLock { $0 = [follower] }
        ticket.between = { [unowned ticket] in #expect(ticket.isCancelled && !ticket.isFinished) }
        queue.addOperation(ticket)
        work.addOperation(follower)
        ticket.cancel()
        await work.drain()
        #expect(follower.isFinished && ran.value == 0)
        #expect(!ticket.isFinished && queue.operationCount == 1)
        #expect(
            "\(ticket.explain())" == """
                'ticket' waits: its isReady is overridden and returns false.
                'ticket' was cancelled: it was asked to stop.
                """)
        ticket.free(announced: announces)
        // The end of another operation has the queue read the override again.
        if !announces { queue.addOperation(Operation()) }
        await queue.drain()
        #expect(ticket.isFinished)
    }

    /// The override of `cancel()` decides, after it has called `super`, that the operation may
    /// leave, and announces nothing.
    @Test func isReadyIsReadAgainAfterCancelHasReturned() async {
        let (queue, ticket) = (suspendedQueue(), Ticket())
        ticket.between = { [unowned ticket] in ticket.free(announced: false) }
        queue.addOperation(ticket)
        queue.cancelAllOperations()
        await queue.drain()
        #expect(ticket.isFinished)
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
