import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct FailureTests {
    struct Broken: Error, Equatable, CustomStringConvertible {
        var description: String { "no connection" }
    }

    private func failing(_ name: String = "upload") -> TypedOperation<Int> {
        let operation = TypedOperation { () throws -> Int in throw Broken() }
        operation.name = name
        return operation
    }

    @Test(arguments: [true, false])
    func dependentsOnSuccessAreCancelledWithReason(isAddedBefore: Bool) async {
        let queue = OperationQueue()
        let upload = failing()
        if !isAddedBefore {
            queue.addOperation(upload)
            await upload.waitUntilFinished()
        }
        let ran = Tally()
        let receipt = queue.add("receipt", after: upload) { _ in ran.increment() }
        let mail = queue.add("mail", after: receipt) { _ in ran.increment() }
        let log = BlockOperation { ran.increment() }
        log.addDependency(mail)
        queue.addOperation(log)
        if isAddedBefore { queue.addOperation(upload) }
        await queue.drain()
        #expect(ran.value == 1)
        for operation in [receipt, mail] {
            #expect(operation.isCancelled && operation.isFinished)
            #expect(operation.cancellationReason?.description == "'upload' failed: no connection")
        }
        #expect(!log.isCancelled && log.cancellationReason == nil)
    }

    @Test func compensationRunsOnlyAfterFailure() async {
        let queue = OperationQueue()
        let ran = TestRecorder<String>()
        let upload = failing()
        let next = queue.add(after: upload) { _ in ran.record("next") }
        let good = queue.add("good") { 1 }
        for (name, dependency) in [("upload", upload as Operation), ("next", next), ("good", good)]
        {
            let cleanUp = BlockOperation { ran.record("after \(name)") }
            cleanUp.name = name
            cleanUp.addDependency(dependency, on: .failure)
            queue.addOperation(cleanUp)
        }
        queue.addOperation(upload)
        await queue.drain()
        #expect(ran.events.sorted() == ["after next", "after upload"])
    }

    @Test func plainCancellationTriggersNoCompensation() async {
        let queue = suspendedQueue()
        let upload = queue.add("upload") { 1 }
        let cleanUp = BlockOperation {}
        cleanUp.addDependency(upload, on: .failure)
        queue.addOperation(cleanUp)
        let next = queue.add(after: upload) { _ in }
        upload.cancel()
        queue.isSuspended = false
        await queue.drain()
        #expect(cleanUp.cancellationReason?.description == "'upload' did not fail")
        #expect(next.cancellationReason?.description == "'upload' was cancelled")
    }

    @Test func errorAfterCancellationIsNoFailure() async {
        let began = UncancellableGate()
        let queue = OperationQueue()
        let operation = queue.add {
            began.open()
            try await untilCancelled()
        }
        await began.wait()
        operation.cancel(because: "enough")
        await queue.drain()
        #expect(operation.error is CancellationError)
        #expect(throws: OperationCancellation.self) { try operation.result }
        #expect(operation.cancellationReason?.description == "enough")
    }

    @Test func reasonForAllIsTheReasonOfEach() async {
        let (began, proceed) = (Signal(), Signal())
        let queue = OperationQueue(width: 1)
        let (ran, ended) = (Tally(), Tally())
        let running = BlockOperation {
            began.send()
            proceed.wait()
        }
        let (first, second) = (BlockOperation { ran.increment() }, BlockOperation {})
        queue.add(running)
        began.wait()
        queue.addOperation { ran.increment() }
        for operation in [first, second] {
            operation.completionBlock = { ended.increment() }
            queue.add(operation)
        }
        second.cancel(because: "too late")
        queue.cancelAllOperations(because: "the window was closed")
        proceed.send()
        await queue.drain()
        #expect(await comesTrue { ended.value == 2 })
        #expect(ran.value == 0, "neither the block nor the operation")
        let reasons = [running, first, second].map { $0.cancellationReason?.description }
        #expect(reasons == ["the window was closed", "the window was closed", "too late"])
        let later = queue.add { 1 }
        #expect(await (try? later.value) == 1, "only what was in the queue is cancelled")
    }

    @Test func rejectedOperationDoesNotWaitForOtherDependencies() async {
        let queue = OperationQueue()
        let never = Operation()
        let upload = failing()
        let dependent = BlockOperation {}
        dependent.addDependency(never)
        dependent.addDependency(upload, on: .success)
        queue.addOperation(dependent)
        queue.addOperation(upload)
        await dependent.waitUntilFinished()
        #expect(dependent.isCancelled && upload.error != nil)
    }

    /// A conditional dependency that is added after the body has begun has no effect.
    @Test(arguments: [true, false])
    func startedOperationIsNotRejected(isFinishedBefore: Bool) async {
        let queue = OperationQueue()
        let (began, proceed) = (Signal(), Signal())
        let running = BlockOperation {
            began.send()
            proceed.wait()
        }
        queue.addOperation(running)
        #expect(await began.arrives())
        let upload = failing()
        if isFinishedBefore { upload.start() }
        running.addDependency(upload, on: .success)
        if !isFinishedBefore { upload.start() }
        #expect(upload.error != nil && !running.isCancelled)
        proceed.send()
        await queue.drain()
        #expect(running.cancellationReason == nil)
    }

    /// The outcome of an operation decides for its dependents. Its cancellation reason agrees with
    /// that outcome, whatever else was about to cancel the operation.
    @Test func outcomeForDependentsAgreesWithReason() async {
        final class First: Operation, @unchecked Sendable {
            nonisolated(unsafe) var whenCancelled: (() -> Void)?
            override func cancel() {
                whenCancelled?()
                super.cancel()
            }
        }
        let (queue, other) = (suspendedQueue(), OperationQueue())
        let upload = failing()
        let first = First()
        // At this moment the whole queue is being cancelled, but `next` has not been notified yet.
        first.whenCancelled = { upload.start() }
        let next = Operation()
        next.addDependency(upload, on: .success)
        let ran = Tally()
        let cleanUp = BlockOperation { ran.increment() }
        cleanUp.addDependency(next, on: .failure)
        other.addOperation(cleanUp)
        await queue.addOperations([first, next], waitUntilFinished: false)
        queue.cancelAllOperations()
        await queue.drain()
        await other.drain()
        #expect(next.cancellationReason?.description == "'upload' failed: no connection")
        #expect(ran.value == 1 && upload.error != nil)
    }

    @Test func unretainedDependentsMayBeFreedMeanwhile() async {
        for _ in 0..<(20_000 / slowness) {
            let queue = OperationQueue()
            let upload = failing()
            let dependents = Locked(
                (0..<4).map { _ in
                    let dependent = BlockOperation {}
                    dependent.addDependency(upload, on: .success)
                    return dependent
                })
            queue.addOperation(upload)
            dependents.withLock { $0.removeAll() }
            await queue.drain()
            _ = upload.error
        }
    }

    @Test func subclassMayReportFailure() async {
        final class Callback: Operation, @unchecked Sendable {
            override func main() { fail(Broken()) }
        }
        let queue = OperationQueue()
        let callback = Callback()
        let next = BlockOperation {}
        next.addDependency(callback, on: .success)
        queue.addOperation(next)
        queue.addOperation(callback)
        await queue.drain()
        #expect(callback.error as? Broken == Broken())
        #expect(next.isCancelled)
    }

    @Test func cascadeReachesAllDependents() async {
        let (queue, other) = (suspendedQueue(), suspendedQueue())
        let ran = Tally()
        let scan = queue.add("scan") { ran.increment() }
        let text = BlockOperation { ran.increment() }
        text.addDependency(scan)
        other.addOperation(text)
        let notYetAdded = BlockOperation { ran.increment() }
        notYetAdded.addDependency(text)
        let unrelated = other.add { ran.increment() }
        scan.cancel(.withDependents, because: "the lid was opened")
        other.addOperation(notYetAdded)
        queue.isSuspended = false
        other.isSuspended = false
        await queue.drain()
        await other.drain()
        #expect(ran.value == 1 && !unrelated.isCancelled)
        for operation in [scan, text, notYetAdded] {
            #expect(operation.cancellationReason?.description == "the lid was opened")
        }
    }

    /// The cancel handler of the first operation makes the second one fail, before that one is
    /// cancelled, and waits for its end.
    ///
    /// The handler does not use the library's waits, because they would call `cancel()` first.
    @Test func operationThatFailsDuringCancelAllHasFailed() async {
        let (queue, other) = (OperationQueue(), OperationQueue())
        queue.maxConcurrentOperationCount = 2
        let (began, failNow, ended, end) = (Signal(), Signal(), Signal(), Signal())
        let second = TypedOperation<Void> {
            Operation.current?.onCancel {}
            began.send()
            failNow.wait()
            throw Broken()
        }
        second.completionBlock = { ended.send() }
        queue.add {
            Operation.current?.onCancel {
                failNow.send()
                ended.wait()
                end.send()
            }
            began.send()
            end.wait()
        }
        queue.addOperation(second)
        let next = other.add(after: second) { _ in }
        for _ in 0..<2 { #expect(await began.arrives()) }
        await onThread { queue.cancelAllOperations() }
        await other.drain()
        #expect(throws: Broken.self) { try second.result }
        #expect(next.isCancelled)
        await queue.drain()
    }

    // MARK: Handlers

    /// The handler holds the last reference to an object whose `deinit` reads the operation.
    @Test(arguments: [false, true])
    func handlerCapturesAreReleasedWithoutLock(hasDependent: Bool) async {
        final class Probe: Sendable {
            let seen: TestRecorder<String>
            let operation: @Sendable () -> Operation?
            init(_ seen: TestRecorder<String>, _ operation: @escaping @Sendable () -> Operation?) {
                (self.seen, self.operation) = (seen, operation)
            }
            deinit { seen.record(operation()?.name ?? "-") }
        }
        let (queue, seen, done) = (suspendedQueue(), TestRecorder<String>(), Signal())
        let operation = BlockOperation {
            let current = Operation.current
            let probe = Probe(seen) { [weak current] in current }
            current?.onCancel { _ = probe }
        }
        operation.name = "copy"
        operation.completionBlock = { done.send() }
        let dependent = BlockOperation {}
        if hasDependent { dependent.addDependency(operation) }
        await queue.addOperations([operation, dependent], waitUntilFinished: false)
        queue.isSuspended = false
        #expect(await done.arrives())
        #expect(seen.events == ["copy"])
        await queue.drain()
    }

    @Test func cancelHandlerInterruptsBlockingCall() async {
        let queue = OperationQueue()
        let (began, abort) = (Signal(), Signal())
        let operation = queue.add {
            Operation.current?.onCancel { abort.send() }
            began.send()
            return abort.wait()
        }
        await onThread { _ = began.wait() }
        queue.cancelAllOperations()
        await queue.drain()
        #expect(operation.isCancelled)
    }

    @Test func cancelHandlersAreCalledOnce() async {
        let (calls, queue) = (Tally(), suspendedQueue())
        let waiting = queue.add {}
        waiting.onCancel { calls.increment() }
        waiting.cancel()
        waiting.cancel()
        queue.cancelAllOperations()
        waiting.onCancel { calls.increment() }
        #expect(calls.value == 2)
        let other = queue.add {}
        other.onCancel { calls.increment() }
        queue.cancelAllOperations()
        queue.isSuspended = false
        await queue.drain()
        // A worker may be about to call the handler.
        #expect(await comesTrue { calls.value == 3 })
        let finished = queue.add {}
        finished.onCancel { calls.increment() }
        await queue.drain()
        finished.cancel()
        finished.onCancel { calls.increment() }
        #expect(calls.value == 3)
    }

    // MARK: Observing

    @Test func explanationsNameOutcomeAndCondition() async {
        let queue = suspendedQueue()
        queue.name = "Office"
        let upload = failing()
        let receipt = queue.add("receipt", after: upload) { _ in }
        let cleanUp = BlockOperation {}
        cleanUp.name = "clean up"
        cleanUp.addDependency(upload, on: .failure)
        queue.addOperation(cleanUp)
        #expect(
            receipt.explain().causes.first?.description
                == "'receipt' waits for 'upload' (in no queue and not started; must succeed)")
        #expect(
            cleanUp.explain().causes.first?.description
                == "'clean up' waits for 'upload' (in no queue and not started; must fail)")
        queue.addOperation(upload)
        queue.isSuspended = false
        await queue.drain()
        #expect(upload.explain().description == "'upload' failed: no connection.")
        #expect(
            receipt.explain().description
                == "'receipt' was cancelled: 'upload' failed: no connection.")
        #expect(upload.error != nil)
    }
}
