import OperationsRuntime
import OperationsTestSupport
import Testing

@testable import Operations

/// The search for deadlocks does not stop a wait that may still end, and finds one that cannot end
/// behind such waits.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct PossibleWaitTests {
    private typealias Make = DeadlockTests.Make

    @Test func waitForOperationInSuspendedQueueMayEnd() async {
        let queue = OperationQueue()
        let held = suspendedQueue()
        let began = Signal()
        let second = BlockOperation {}
        held.maxConcurrentOperationCount = 1
        held.addOperation(second)
        queue.addOperation {
            began.send()
            second.waitUntilFinished()
        }
        #expect(await began.arrives())
        held.isSuspended = false
        await queue.drain()
        #expect(second.isFinished)
    }

    @Test func waitForCancelledOperationEnds() async {
        let queue = serialQueue()
        let finished = Signal()
        let second = BlockOperation {}
        queue.addOperation {
            second.addDependency(Operation())
            queue.addOperation(second)
            second.cancel()
            second.waitUntilFinished()
            finished.send()
        }
        #expect(await finished.arrives())
        await queue.drain()
    }

    /// An operation that does not wait holds one of the slots, so the others run after it.
    @Test func slotOfHolderThatDoesNotWaitBecomesFree() async {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 2
        let (began, proceed) = (Signal(), Signal())
        let second = BlockOperation {}
        let first = BlockOperation {
            began.send()
            second.waitUntilFinished()
        }
        let busy = BlockOperation { proceed.wait() }
        await queue.addOperations([first, busy, second], waitUntilFinished: false)
        #expect(await began.arrives())
        proceed.send()
        await queue.drain()
        #expect(second.isFinished)
    }

    /// The dependency cycle has been reported, and cancelling a member of it also ends the wait.
    @Test func waitForDependencyCycleMayEnd() async {
        let queue = OperationQueue()
        let (a, b) = (BlockOperation {}, BlockOperation {})
        b.addDependency(a)
        a.addDependency(b)
        let began = Signal()
        queue.addOperation {
            began.send()
            a.waitUntilFinished()
        }
        await queue.addOperations([a, b], waitUntilFinished: false)
        #expect(await began.arrives())
        b.cancel()
        await queue.drain()
        #expect(a.isFinished)
    }

    /// All slot holders wait, but one of them waits for a cycle that can be broken.
    @Test func slotOfHolderWaitingForCycleMayBecomeFree() async {
        let (queue, other) = (OperationQueue(), OperationQueue())
        queue.maxConcurrentOperationCount = 2
        let (a, b) = (BlockOperation {}, BlockOperation {})
        b.addDependency(a)
        a.addDependency(b)
        await other.addOperations([a, b], waitUntilFinished: false)
        let last = BlockOperation {}
        let holders = [
            BlockOperation { a.waitUntilFinished() }, BlockOperation { last.waitUntilFinished() },
        ]
        await queue.addOperations(holders + [last], waitUntilFinished: false)
        for holder in holders {
            #expect(await comesTrue { !BlockedWait.targets(in: holder).isEmpty })
        }
        b.cancel()
        await queue.drain()
        #expect(last.isFinished)
    }

    /// The awaited operation is in a cycle, and also depends on the waiting operation.
    @Test func waitForDependentInsideCycleTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = Make.queue("net")
            let (a, b) = (Make.operation("a") {}, Make.operation("b") {})
            let first = Make.operation("first") { a.waitUntilFinished() }
            a.addDependency(first)
            b.addDependency(a)
            a.addDependency(b)
            await queue.addOperations([first, a, b], waitUntilFinished: false)
            await queue.drain()
        }
        expect(result, says: "waits for 'a'; 'a' waits for 'first'; so none of them would")
    }

    @Test func waitForOperationWithIsReadyOverrideMayEnd() async {
        final class Conditional: Operation, @unchecked Sendable {
            let condition = Locked(false)
            override var isReady: Bool { super.isReady && condition.withLock { $0 } }
        }
        let queue = OperationQueue()
        let operation = Conditional()
        let began = Signal()
        queue.addOperation {
            began.send()
            operation.waitUntilFinished()
        }
        queue.addOperation(operation)
        #expect(await began.arrives())
        operation.condition.withLock { $0 = true }
        operation.didChangeValue(forKey: "isReady")
        await queue.drain()
    }

    /// Operations of three queues wait only for children in the next queue. All slots are taken all
    /// the time, some children are cancelled, and some waits are for a whole queue.
    @Test func waitsOfNarrowQueuesForLowerQueuesEnd() async {
        for round in 0..<40 {
            let queues = (0..<3).map { _ in OperationQueue() }
            for queue in queues { queue.maxConcurrentOperationCount = 1 + round % 3 }
            let ran = Tally()
            @Sendable func work(_ depth: Int) {
                ran.increment()
                guard depth + 1 < queues.count else { return }
                let children = (0..<3).map { _ in BlockOperation { work(depth + 1) } }
                children[2].addDependency(children[0])
                if round % 2 == 0 {
                    queues[depth + 1].addOperations(children, waitUntilFinished: true)
                } else {
                    for child in children { queues[depth + 1].addOperation(child) }
                    children[1].cancel()
                    for child in children { child.waitUntilFinished() }
                    if depth == 1 { queues[2].waitUntilAllOperationsAreFinished() }
                }
            }
            for _ in 0..<6 { queues[0].addOperation { work(0) } }
            await queues[0].drain()
            #expect(ran.value >= 6)
            if round % 2 == 0 { #expect(ran.value == 6 + 18 + 54) }
        }
    }

    /// Each operation waits only for operations behind it, so no wait is mistaken for a deadlock.
    @Test func waitsForLaterOperationsOfWideQueueEnd() async {
        let queue = OperationQueue()
        let count = 200
        let ran = Tally()
        var operations: [BlockOperation] = []
        for index in 0..<count {
            let earlier = operations.enumerated().filter { (index + $0.offset) % 7 == 0 }
                .map(\.element)
            operations.append(
                BlockOperation {
                    for operation in earlier.suffix(3) { operation.waitUntilFinished() }
                    ran.increment()
                })
        }
        await queue.addOperations(operations.reversed(), waitUntilFinished: true)
        #expect(ran.value == count)
    }

    /// Of nested waits, only the innermost repeats its search for a deadlock, because the operation
    /// it waits for does not wait itself. That search finds the deadlock of all of them.
    @Test func dependencyAddedBehindNestedWaitsTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = Make.queue("net")
            let began = Signal()
            let (last, key) = (Make.operation("last") {}, Make.operation("key") {})
            last.addDependency(key)
            let third = Make.operation("third") {
                began.send()
                last.waitUntilFinished()
            }
            let second = Make.operation("second") {
                queue.addOperation(third)
                third.waitUntilFinished()
            }
            let first = Make.operation("first") {
                queue.addOperation(second)
                second.waitUntilFinished()
            }
            queue.addOperation(first)
            queue.addOperation(last)
            await onThread { _ = began.wait() }
            // From here on no operation could proceed.
            key.addDependency(first)
            queue.addOperation(key)
            await queue.drain()
        }
        expect(result, says: "so none of them would ever finish: remove this wait")
    }

    /// A reported dependency cycle can be broken, so a wait behind it is no deadlock.
    @Test func waitBehindBrokenDependencyCycleEnds() async {
        await #expect(processExitsWith: .success) {
            OperationsDiagnostics.handler = { _ in }
            let queue = OperationQueue()
            let began = Signal()
            let (a, b) = (Make.operation("a") {}, Make.operation("b") {})
            let (c, after) = (Make.operation("c") {}, Make.operation("after") {})
            let waiting = Make.operation("waiting") {
                began.send()
                c.waitUntilFinished()
            }
            a.addDependency(b)
            b.addDependency(a)
            c.addDependency(a)
            // The wait holds back a dependent, so the search runs.
            after.addDependency(waiting)
            queue.addOperation(waiting)
            await queue.addOperations([c, after], waitUntilFinished: false)
            await onThread { _ = began.wait() }
            a.removeDependency(b)
            queue.addOperation(a)
            queue.addOperation(b)
            await queue.drain()
            #expect(c.isFinished)
        }
    }
}
