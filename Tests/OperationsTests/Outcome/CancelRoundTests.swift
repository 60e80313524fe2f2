import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

/// Overrides of `cancel()` in operations that are cancelled together.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct CancelRoundTests {
    private class Watched: Operation, @unchecked Sendable {
        let (cancelled, ran, endedEarly) = (Tally(), Tally(), Tally())
        override func main() { ran.increment() }
        override func cancel() {
            if isFinished { endedEarly.increment() }
            cancelled.increment()
            super.cancel()
        }
    }

    private final class Blocking: Watched, @unchecked Sendable {
        let (entered, proceed) = (Signal(), Signal())
        override func cancel() {
            entered.send()
            proceed.wait()
            super.cancel()
        }
    }

    /// An operation that runs an action before it passes the cancellation on.
    private final class Acting: Watched, @unchecked Sendable {
        let action = Locked<(@Sendable () -> Void)?>(nil)
        override func cancel() {
            action.withLock { $0.take() }?()
            super.cancel()
        }
    }

    enum Method: CaseIterable { case all, dependents, several }

    private func cancel(_ method: Method, _ operations: [Operation], in queue: OperationQueue) {
        switch method {
        case .all: queue.cancelAllOperations()
        case .dependents: operations[0].cancel(.withDependents)
        case .several: Operation.cancel(operations, because: .requested)
        }
    }

    /// Workers reach both operations while the `cancel()` of the first one blocks.
    @Test(arguments: Method.allCases)
    func noOperationStartsOrEndsBeforeItsCancel(method: Method) async {
        let queue = suspendedQueue()
        let (first, second) = (Blocking(), Watched())
        if method == .dependents { second.addDependency(first) }
        await queue.addOperations([first, second], waitUntilFinished: false)
        async let isCancelled: Void = onThread { cancel(method, [first, second], in: queue) }
        #expect(await first.entered.arrives())
        queue.isSuspended = false
        // These operations follow both others, so by their end a worker has reached both.
        for _ in 0..<3 { await queue.addOperations([BlockOperation {}], waitUntilFinished: true) }
        #expect(!first.isFinished && !second.isFinished)
        #expect(!second.isCancelled)
        #expect(second.cancelled.value == 0 && first.ran.value == 0 && second.ran.value == 0)
        first.proceed.send()
        await isCancelled
        await queue.drain()
        #expect(first.isCancelled && second.isCancelled)
        #expect(second.cancelled.value == 1 && second.endedEarly.value == 0)
        #expect(first.ran.value == 0 && second.ran.value == 0)
    }

    /// The cancellation races with workers that come at any moment.
    @Test(arguments: Method.allCases)
    func cancelIsCalledOnEveryCancelledOperation(method: Method) async {
        let missed = Tally()
        for round in 0..<300 {
            let queue = OperationQueue()
            let operations = (0..<4).map { _ in Watched() }
            for operation in operations {
                if method == .dependents, operation !== operations[0] {
                    operation.addDependency(operations[0])
                }
                operation.completionBlock = { [unowned operation] in
                    if operation.isCancelled, operation.cancelled.value == 0 {
                        missed.increment()
                    }
                }
            }
            await queue.addOperations(operations, waitUntilFinished: false)
            for _ in 0..<(round % 7) { await Task.yield() }
            cancel(method, operations, in: queue)
            await queue.drain()
        }
        #expect(missed.value == 0)
    }

    /// The first operation may leave as soon as its cancellation is announced. Meanwhile the
    /// announcements to those that wait for it go on, and none of them begins.
    @Test(arguments: [Method.dependents, .several])
    func noDependentBeginsBecauseItsDependencyHasLeft(method: Method) async {
        // A round shows nothing if the first operation begins before its cancellation.
        var (rounds, telling) = (0, 0)
        while telling < 20, rounds < 2_000 {
            rounds += 1
            let (serial, wide) = (OperationQueue(width: 1), OperationQueue())
            let (started, proceed) = (Signal(), Signal())
            let (ran, begun) = (Tally(), Tally())
            serial.addOperation { proceed.wait() }
            let first = BlockOperation { ran.increment() }
            let dependents = (0..<1_000).map { _ in BlockOperation { begun.increment() } }
            for dependent in dependents { dependent.addDependency(first) }
            serial.addOperation(first)
            await wide.addOperations(dependents, waitUntilFinished: false)
            async let isCancelled: Void = onThread {
                started.send()
                cancel(method, [first] + dependents, in: serial)
            }
            #expect(await started.arrives())
            proceed.send()
            await isCancelled
            await serial.drain()
            await wide.drain()
            guard ran.value == 0 else { continue }
            telling += 1
            #expect(begun.value == 0)
        }
        #expect(telling == 20)
    }

    @Test func pendingBlocksAreDroppedWithAReason() async {
        let queue = suspendedQueue()
        let ran = Tally()
        for _ in 0..<100 { queue.addOperation { ran.increment() } }
        queue.cancelAllOperations(because: "the window was closed")
        // A worker may have released some of them already.
        #expect(queue.snapshot { $0.hasOnlyFinished })
        queue.isSuspended = false
        await queue.drain()
        #expect(ran.value == 0)
    }

    @Test func cancelMayWaitForAnotherCancelledOperation() async {
        let queue = suspendedQueue()
        let (first, second) = (Acting(), Watched())
        let waited = TestRecorder<Bool>()
        first.action.withLock {
            $0 = { waited.record(second.waitUntilFinished(within: .seconds(100))) }
        }
        await queue.addOperations([first, second], waitUntilFinished: false)
        await onThread { queue.cancelAllOperations() }
        await queue.drain()
        #expect(waited.events == [true])
        #expect(second.isCancelled && second.cancelled.value == 1)
    }

    @Test func cancelMayWaitForItsOwnOperationAndQueue() async {
        let queue = suspendedQueue()
        let operations = [Acting(), Acting(), Acting()]
        let waited = TestRecorder<Bool>()
        operations[0].action.withLock {
            $0 = { waited.record(operations[0].waitUntilFinished(within: .seconds(100))) }
        }
        operations[1].action.withLock {
            $0 = {
                waited.record(queue.waitUntilAllOperationsAreFinished(within: .seconds(100)))
            }
        }
        operations[2].action.withLock {
            $0 = { waited.record(operations[1].waitUntilFinished(within: .seconds(100))) }
        }
        await queue.addOperations(operations, waitUntilFinished: false)
        await onThread { queue.cancelAllOperations() }
        await queue.drain()
        #expect(waited.events == [true, true, true])
        for operation in operations { operation.action.withLock { $0 = nil } }
    }

    @Test func operationStartedManuallyMeanwhileIsCancelledFirst() async {
        let (first, second) = (Acting(), Watched())
        let counts = TestRecorder<Int>()
        second.completionBlock = { [unowned second] in counts.record(second.cancelled.value) }
        first.action.withLock { $0 = { second.start() } }
        Operation.cancel([first, second], because: .requested)
        #expect(second.isFinished && second.isCancelled && second.ran.value == 0)
        #expect(await comesTrue { counts.events.count == 1 })
        #expect(counts.events[0] >= 1)
    }

    /// The queue has called `start()`: the operation is executing, and only its own `cancel()`
    /// cancels it.
    @Test func operationWhoseStartWasCalledEndsByItself() async {
        final class Slow: Watched, @unchecked Sendable {
            let (began, proceed) = (Signal(), Signal())
            override func start() {
                began.send()
                proceed.wait()
                super.start()
            }
        }
        let queue = suspendedQueue()
        queue.maxConcurrentOperationCount = 1
        let (first, slow) = (Blocking(), Slow())
        slow.queuePriority = .high
        await queue.addOperations([first, slow], waitUntilFinished: false)
        queue.isSuspended = false
        guard await slow.began.arrives() else { return }
        async let isCancelled: Void = onThread { queue.cancelAllOperations() }
        #expect(await first.entered.arrives())
        slow.proceed.send()
        await slow.finished()
        #expect(!slow.isCancelled && slow.ran.value == 1 && slow.cancelled.value == 0)
        first.proceed.send()
        await isCancelled
        await queue.drain()
    }
}
