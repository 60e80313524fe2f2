import Dispatch
import Operations
import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

/// Starting, running and ending: rows O1–O10, O19–O22, O28–O35 and decision 4.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct LifeCycleContractTests {
    @Test(
        "O1, O2, decision 4: a dependency has finished and left its queue when a dependent starts")
    func dependentStartsAfterItsDependencyHasLeftTheQueue() async {
        let (first, second) = (OperationQueue(), OperationQueue())
        let seen = TestRecorder<Bool>()
        for _ in 0..<500 {
            let dependency = BlockOperation {}
            let dependent = BlockOperation {
                seen.record(
                    dependency.isFinished && !dependency.isExecuting && first.operationCount == 0
                        && first.operations.isEmpty)
            }
            dependent.addDependency(dependency)
            second.addOperation(dependent)
            first.addOperation(dependency)
            await second.drain()
        }
        #expect(seen.events == Array(repeating: true, count: 500))
    }

    @Test("O2, decision 4: an operation has left its queue when its completion block runs")
    func completionBlockRunsAfterTheOperationHasLeft() async {
        let queue = serialQueue()
        let seen = TestRecorder<Bool>()
        for _ in 0..<200 {
            let operation = Operation()
            await withCheckedContinuation { continuation in
                operation.completionBlock = { [unowned operation] in
                    seen.record(operation.isFinished && queue.operationCount == 0)
                    continuation.resume()
                }
                queue.addOperation(operation)
            }
        }
        #expect(seen.events == Array(repeating: true, count: 200))
    }

    @Test("O2, O19: dependents, waits and the next operation do not wait for a completion block")
    func nothingWaitsForACompletionBlock() async {
        let (serial, other) = (serialQueue(), OperationQueue())
        let (nextRan, dependentRan, waitReturned) = (Signal(), Signal(), Signal())
        let first = Operation()
        let dependent = BlockOperation { dependentRan.send() }
        dependent.addDependency(first)
        let wasInTime: Bool = await withCheckedContinuation { continuation in
            first.completionBlock = {
                let all = nextRan.wait() && dependentRan.wait() && waitReturned.wait()
                continuation.resume(returning: all)
            }
            startTestThread {
                serial.addOperation(first)
                serial.addOperation { nextRan.send() }
                other.addOperation(dependent)
                first.waitUntilFinished()
                serial.waitUntilAllOperationsAreFinished()
                waitReturned.send()
            }
        }
        #expect(wasInTime)
    }

    @Test("O6: a cancelled operation is never executing and never runs main, in a queue or by hand")
    func cancelledOperationIsNeverExecuting() async {
        final class Watching: Operation, @unchecked Sendable {
            let trace = TestRecorder<String>()
            override var isFinished: Bool {
                if super.isExecuting { trace.record("executing") }
                return super.isFinished
            }
            override func main() { trace.record("main") }
        }
        let (byHand, queued) = (Watching(), Watching())
        byHand.cancel()
        queued.cancel()
        byHand.start()
        await OperationQueue().addOperations([queued], waitUntilFinished: true)
        #expect(byHand.isFinished && queued.isFinished)
        #expect(byHand.trace.events + queued.trace.events == [])
    }

    @Test("O7: start() without a queue runs main on the caller's thread, where current is nil")
    func startRunsOnTheCallersThread() async {
        let seen = TestRecorder<Bool>()
        await onThread {
            let caller = currentThread
            BlockOperation {
                seen.record(currentThread == caller)
                seen.record(OperationQueue.current == nil)
            }.start()
        }
        #expect(seen.events == [true, true])
    }

    @Test("O7, Q18: current is the main queue on the main thread, inside start() and outside")
    @MainActor func currentIsTheMainQueueOnTheMainThread() {
        #expect(OperationQueue.current === OperationQueue.main)
        let seen = TestRecorder<Bool>()
        BlockOperation { seen.record(OperationQueue.current === OperationQueue.main) }.start()
        #expect(seen.events == [true])
    }

    @Test("O9: a cancelled operation leaves its queue although its dependencies have not finished")
    func cancelledOperationDoesNotWaitForDependencies() async {
        let queue = OperationQueue()
        let ran = Tally()
        let (never, operation) = (Operation(), BlockOperation { ran.increment() })
        operation.addDependency(never)
        queue.addOperation(operation)
        #expect(!operation.isReady)
        operation.cancel()
        #expect(operation.isReady)
        await operation.waitUntilFinished()
        #expect(ran.value == 0)
        #expect(queue.operationCount == 0)
    }

    @Test("O9: cancelling again, before and after the end, changes nothing")
    func cancellingAgainChangesNothing() async {
        let queue = suspendedQueue()
        let completions = Tally()
        let operation = Operation()
        await withCheckedContinuation { continuation in
            operation.completionBlock = {
                completions.increment()
                continuation.resume()
            }
            for _ in 0..<3 { operation.cancel() }
            queue.addOperation(operation)
            for _ in 0..<3 { operation.cancel() }
        }
        operation.cancel()
        #expect(operation.isCancelled && operation.isFinished)
        await queue.drain()
        #expect(completions.value == 1)
    }

    @Test("O20: the completion block is removed before it runs, and its captures are released")
    func completionBlockIsRemovedBeforeItRuns() async {
        let releases = Tally()
        let wasDropped: Bool = await withCheckedContinuation { continuation in
            let operation = Operation()
            let token = Token(releases)
            operation.completionBlock = {
                withExtendedLifetime(token) {}
                continuation.resume(returning: operation.completionBlock == nil)
            }
            operation.start()
        }
        #expect(wasDropped)
        #expect(await comesTrue { releases.value == 1 })
    }

    @Test("O21: a completion block set inside main runs")
    func completionBlockSetInsideMainRuns() async {
        await withCheckedContinuation { continuation in
            let operation = BlockOperation()
            operation.addExecutionBlock { [unowned operation] in
                operation.completionBlock = { continuation.resume() }
            }
            OperationQueue().addOperation(operation)
        }
    }

    @Test("O21: a completion block set after the end is never called")
    func completionBlockSetAfterTheEndIsNotCalled() async {
        let (calls, releases) = (Tally(), Tally())
        do {
            let operation = Operation()
            operation.start()
            let token = Token(releases)
            operation.completionBlock = {
                withExtendedLifetime(token) {}
                calls.increment()
            }
        }
        #expect(await comesTrue { releases.value == 1 })
        #expect(calls.value == 0)
    }

    @Test(
        "O28: a change of readiness is noticed for each spelling of its key",
        arguments: ["isReady", "ready", "keyPath"])
    func everySpellingOfTheReadyKeyIsRecognized(key: String) async {
        final class Conditional: Operation, @unchecked Sendable {
            let condition = Atomic(false)
            override var isReady: Bool { super.isReady && condition.load(ordering: .acquiring) }
        }
        let queue = OperationQueue()
        let operation = Conditional()
        queue.addOperation(operation)
        operation.condition.store(true, ordering: .releasing)
        if key == "keyPath" {
            operation.willChangeValue(for: \.isReady)
            operation.didChangeValue(for: \.isReady)
        } else {
            operation.willChangeValue(forKey: key)
            operation.didChangeValue(forKey: key)
        }
        await queue.drain()
        #expect(operation.isFinished)
    }

    @Test(
        "O33: queues ignore isAsynchronous: a worker runs main, and the operation ends with main",
        arguments: [false, true])
    func queuesIgnoreIsAsynchronous(isAsynchronous: Bool) async {
        final class Claims: Operation, @unchecked Sendable {
            let claim: Bool
            let thread = TestRecorder<UInt>()
            init(_ claim: Bool) { self.claim = claim }
            override var isAsynchronous: Bool { claim }
            override func main() { thread.record(currentThread) }
        }
        let operation = Claims(isAsynchronous)
        let caller = await onThread {
            OperationQueue().addOperations([operation], waitUntilFinished: true)
            return currentThread
        }
        #expect(operation.isFinished)
        #expect(operation.thread.events.count == 1)
        #expect(operation.thread.events != [caller])
        #expect(!Operation().isAsynchronous && !Operation().isConcurrent)
    }

    @Test("O34: current is the queue of the operation also inside a nested DispatchQueue.sync")
    func currentIsUnchangedInsideANestedDispatchSync() async {
        let queue = OperationQueue()
        let seen = TestRecorder<Bool>()
        let dispatch = DispatchQueue(label: "nested")
        queue.addOperation {
            dispatch.sync { seen.record(OperationQueue.current === queue) }
            Operation().start()
            seen.record(OperationQueue.current === queue)
        }
        await queue.drain()
        #expect(seen.events == [true, true])
    }

    @Test("O34: current is the queue of the innermost operation, and the outer one after a wait")
    func currentIsTheQueueOfTheInnermostOperation() async {
        let (outer, inner) = (OperationQueue(), OperationQueue())
        let seen = TestRecorder<Bool>()
        await onThread {
            outer.addOperation {
                seen.record(OperationQueue.current === outer)
                let child = BlockOperation { seen.record(OperationQueue.current === inner) }
                inner.addOperations([child], waitUntilFinished: true)
                seen.record(OperationQueue.current === outer)
            }
            outer.waitUntilAllOperationsAreFinished()
        }
        #expect(seen.events == [true, true, true])
    }

    @Test("O35: an operation whose async body throws finishes, and its dependents run")
    func operationFinishesWhenItsBodyThrows() async {
        struct Failure: Error {}
        let ran = Tally()
        let failing = TypedOperation<Void> { throw Failure() }
        let dependent = BlockOperation { ran.increment() }
        dependent.addDependency(failing)
        await OperationQueue().addOperations([dependent, failing], waitUntilFinished: true)
        #expect(failing.isFinished && !failing.isExecuting && failing.error is Failure)
        #expect(ran.value == 1)
    }

    @Test("Decision 1: everything that Foundation lets a subclass override can be overridden")
    func everythingCanBeOverridden() async {
        let operation = EverythingOverridden()
        operation.name = "all"
        operation.queuePriority = .high
        operation.qualityOfService = .utility
        operation.threadPriority = 0.5
        operation.completionBlock = nil
        let other = Operation()
        operation.addDependency(other)
        operation.removeDependency(other)
        #expect(operation.dependencies == [])
        await OperationQueue().addOperations([operation], waitUntilFinished: true)
        operation.cancel()
        await onThread { operation.waitUntilFinished() }
        let calls = Set(operation.calls.events)
        #expect(
            calls == [
                "name", "queuePriority", "qualityOfService", "threadPriority", "completionBlock",
                "addDependency", "removeDependency", "start", "main", "cancel", "waitUntilFinished",
            ])
    }
}

private final class EverythingOverridden: Operation, @unchecked Sendable {
    let calls = TestRecorder<String>()

    override var isReady: Bool { super.isReady }
    override var isExecuting: Bool { super.isExecuting }
    override var isFinished: Bool { super.isFinished }
    override var isCancelled: Bool { super.isCancelled }
    override var isAsynchronous: Bool { super.isAsynchronous }
    override var isConcurrent: Bool { super.isConcurrent }
    override var dependencies: [Operation] { super.dependencies }
    override var name: String? { didSet { calls.record("name") } }
    override var queuePriority: QueuePriority { didSet { calls.record("queuePriority") } }
    override var qualityOfService: QualityOfService { didSet { calls.record("qualityOfService") } }
    override var threadPriority: Double { didSet { calls.record("threadPriority") } }
    override var completionBlock: (@Sendable () -> Void)? {
        didSet { calls.record("completionBlock") }
    }

    override func addDependency(_ dependency: Operation) {
        calls.record("addDependency")
        super.addDependency(dependency)
    }
    override func removeDependency(_ dependency: Operation) {
        calls.record("removeDependency")
        super.removeDependency(dependency)
    }
    override func start() {
        calls.record("start")
        super.start()
    }
    override func main() { calls.record("main") }
    override func cancel() {
        calls.record("cancel")
        super.cancel()
    }
    override func waitUntilFinished() {
        calls.record("waitUntilFinished")
        super.waitUntilFinished()
    }
}
