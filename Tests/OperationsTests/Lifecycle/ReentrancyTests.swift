import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations

/// What user code may do where the library calls or releases it.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct ReentrancyTests {
    /// Runs an action when it is deallocated.
    final class DeinitAction: Sendable {
        private let action: @Sendable () -> Void
        init(_ action: @escaping @Sendable () -> Void) { self.action = action }
        deinit { action() }
    }

    @Test func deinitMayUseQueueThatReleasesOperation() async {
        let queue = suspendedQueue()
        do {
            let token = DeinitAction { _ = queue.operationCount }
            let operation = BlockOperation { _ = token }
            queue.addOperation(operation)
            operation.cancel()
        }
        await queue.drain()
        queue.isSuspended = false
        queue.addOperation {}
        await queue.drain()
    }

    @Test func deinitMayUseOperationWhoseCompletionBlockHeldIt() {
        let operation = Operation()
        do {
            let token = DeinitAction { [unowned operation] in operation.cancel() }
            operation.completionBlock = { _ = token }
        }
        operation.completionBlock = nil
        #expect(operation.isCancelled)
    }

    /// The usual override of `cancel()`: a second call does nothing.
    @Test func cancelAllReachesRunningWorkWithGuardedOverride() async {
        final class Fetch: Operation, @unchecked Sendable {
            let began = Signal()
            let stop = Signal()
            let stopped = Tally()
            override func main() {
                began.send()
                stop.wait()
            }
            override func cancel() {
                guard !isCancelled else { return }
                super.cancel()
                stopped.increment()
                stop.send()
            }
        }
        let queue = OperationQueue()
        let operation = Fetch()
        queue.addOperation(operation)
        #expect(await operation.began.arrives())
        queue.cancelAllOperations()
        #expect(operation.stopped.value == 1)
        await queue.drain()
    }

    @Test func isCancelledOverrideDoesNotMakeQueueSpin() async {
        final class Never: Operation, @unchecked Sendable {
            let calls = Tally()
            let over = Atomic(false)
            override var isReady: Bool {
                calls.increment()
                return over.load(ordering: .acquiring)
            }
            override var isCancelled: Bool { false }
            override func main() {}
        }
        let queue = OperationQueue()
        let operation = Never()
        queue.addOperation(operation)
        operation.cancel()
        #expect(queue.operationCount == 1)
        operation.over.store(true, ordering: .releasing)
        operation.didChangeValue(forKey: "isReady")
        await queue.drain()
        #expect(operation.calls.value < 10)
    }

    @Test func subclassMayFinishAfterMainHasReturned() async {
        final class Later: Operation, @unchecked Sendable {
            let over = Atomic(false)
            let began = Signal()
            override var isFinished: Bool { over.load(ordering: .acquiring) }
            override func main() { began.send() }
        }
        let queue = serialQueue()
        let operation = Later()
        let order = TestRecorder<Bool>()
        queue.addOperation(operation)
        queue.addOperation { order.record(operation.isFinished) }
        #expect(await operation.began.arrives())
        #expect(queue.operationCount == 2)
        operation.over.store(true, ordering: .releasing)
        operation.didChangeValue(forKey: "isFinished")
        await queue.drain()
        #expect(order.events == [true])
    }

    @Test func blocksOnHelperThreadsKnowTheirQueue() async {
        let queue = OperationQueue()
        let seen = TestRecorder<Bool>()
        let operation = BlockOperation()
        for _ in 0..<50 {
            operation.addExecutionBlock { seen.record(OperationQueue.current === queue) }
        }
        await queue.addOperations([operation], waitUntilFinished: true)
        #expect(seen.events == Array(repeating: true, count: 50))
    }

    @Test func taskCreatedByBodyMayWaitForOperation() async {
        let box = Locked<TypedOperation<Void>?>(nil)
        let waiting = Locked<Task<Void, Never>?>(nil)
        let operation = TypedOperation<Void> {
            let operation = box.withLock { $0 }
            let task = Task { _ = await operation?.waitUntilFinished() }
            waiting.withLock { $0 = task }
        }
        box.withLock { $0 = operation }
        await OperationQueue().addOperations([operation], waitUntilFinished: true)
        await waiting.withLock { $0 }?.value
    }

    @Test func asyncOperationsCreatedInsideTaskAreFreed() async {
        final class Token: Sendable {
            let gone: Tally
            init(_ gone: Tally) { self.gone = gone }
            deinit { gone.increment() }
        }
        let gone = Tally()
        for _ in 0..<200 {
            let token = Token(gone)
            let operation = TypedOperation<Void> { _ = token }
            operation.start()
            await operation.waitUntilFinished()
        }
        #expect(await comesTrue { gone.value >= 200 })
    }

    @Test func synchronousMainOfAsyncSubclassRuns() async {
        final class Plain: TypedOperation<Void>, @unchecked Sendable {
            let ran = Tally()
            override func main() { ran.increment() }
        }
        let operation = Plain()
        await OperationQueue().addOperations([operation], waitUntilFinished: true)
        #expect(operation.ran.value == 1)
    }

    @Test func equalPrioritiesStartInEnqueueOrderNotReadyOrder() async {
        let queue = serialQueue()
        queue.isSuspended = true
        let order = TestRecorder<Int>()
        let gates = (0..<10).map { _ in Operation() }
        for index in 0..<20 {
            let operation = BlockOperation { order.record(index) }
            if index % 2 == 0 { operation.addDependency(gates[index / 2]) }
            queue.addOperation(operation)
        }
        for gate in gates.reversed() { gate.start() }
        queue.isSuspended = false
        await queue.drain()
        #expect(order.events == Array(0..<20))
    }

    @Test func cancelledMemberMakesNoCycle() {
        let (a, b) = (Operation(), Operation())
        b.addDependency(a)
        a.cancel()
        a.addDependency(b)
        #expect(a.isReady)
    }
}
