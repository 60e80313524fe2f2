import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations

/// The checked methods, which throw where the usual methods stop the program. `MisuseTests` checks
/// the messages of the usual methods.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct CheckedTests {
    private func named(_ name: String) -> BlockOperation {
        let operation = BlockOperation {}
        operation.name = name
        return operation
    }

    private func misuse(_ body: () throws(OperationMisuse) -> Void) -> OperationMisuse? {
        do {
            try body()
            return nil
        } catch {
            return error
        }
    }

    // MARK: Starting

    @Test func startsReadyOperation() throws {
        let ran = Tally()
        let operation = BlockOperation { ran.increment() }
        try operation.startChecked()
        #expect(operation.isFinished && ran.value == 1)
    }

    @Test func startingFinishedOperationDoesNothing() throws {
        let ran = Tally()
        let operation = BlockOperation { ran.increment() }
        operation.start()
        try operation.startChecked()
        #expect(ran.value == 1)
    }

    @Test func startingCancelledOperationFinishesIt() throws {
        let operation = named("filter")
        operation.addDependency(named("download"))
        operation.cancel()
        try operation.startChecked()
        #expect(operation.isFinished)
    }

    @Test func refusesToStartUnreadyOperation() throws {
        let (download, filter) = (named("download"), named("filter"))
        filter.addDependency(download)
        let misuse = misuse { () throws(OperationMisuse) in try filter.startChecked() }
        #expect(misuse?.kind == .notReady)
        #expect(
            misuse?.description == "'filter' (in no queue) is not ready: it waits for 'download'; "
                + "start it when isReady is true")
        download.start()
        try filter.startChecked()
        #expect(filter.isFinished)
    }

    @Test func refusesToStartEnqueuedOperation() async {
        let queue = suspendedQueue()
        let filter = named("filter")
        queue.addOperation(filter)
        let misuse = misuse { () throws(OperationMisuse) in try filter.startChecked() }
        #expect(misuse?.kind == .inQueue)
        #expect(
            misuse?.description
                == "'filter' (ready) is in a queue, which will start it: do not call start() yourself"
        )
        queue.isSuspended = false
        await queue.drain()
        #expect(filter.isFinished)
    }

    @Test func refusesToStartOperationFromItsOwnMain() {
        final class Recursive: Operation, @unchecked Sendable {
            let refused = TestRecorder<OperationMisuse.Kind>()
            override func main() {
                do { try startChecked() } catch { refused.record(error.kind) }
            }
        }
        let operation = Recursive()
        operation.start()
        #expect(operation.refused.events == [.alreadyExecuting])
        #expect(operation.isFinished)
    }

    /// The override of `isReady` stands for the other thread: `start()` calls it just before the
    /// operation starts.
    @Test func refusesToStartOperationThatAnotherThreadStartedFirst() {
        final class Overtaken: Operation, @unchecked Sendable {
            let calls = Tally()
            override var isReady: Bool {
                // `start()` itself makes the second call.
                if calls.increment() == 2 { _ = beginExecuting() }
                return true
            }
        }
        let operation = Overtaken()
        operation.name = "filter"
        let misuse = misuse { () throws(OperationMisuse) in try operation.startChecked() }
        #expect(misuse?.kind == .alreadyExecuting)
        #expect(
            misuse?.description
                == "'filter' (executing) was started by two threads at the same time: "
                + "start it only once")
    }

    @Test func refusesToStartStateKeepingSubclassTwice() throws {
        let operation = StateKeepingOperation()
        try operation.startChecked()
        let misuse = misuse { () throws(OperationMisuse) in try operation.startChecked() }
        #expect(misuse?.kind == .alreadyExecuting)
        operation.stage = .finished
        try operation.startChecked()
    }

    @Test func refusedStartInsideBlockDoesNotFailOuterStart() {
        let refused = TestRecorder<OperationMisuse.Kind>()
        let inner = named("inner")
        inner.addDependency(Operation())
        let outer = BlockOperation {
            do throws(OperationMisuse) {
                try inner.startChecked()
            } catch {
                refused.record(error.kind)
            }
        }
        #expect(misuse { () throws(OperationMisuse) in try outer.startChecked() } == nil)
        #expect(refused.events == [.notReady])
    }

    // MARK: Adding

    @Test func refusesToAddEnqueuedExecutingOrFinishedOperation() async throws {
        let queue = suspendedQueue()
        let (filter, done) = (named("filter"), named("done"))
        try queue.addOperationChecked(filter)
        done.start()
        let again = misuse { () throws(OperationMisuse) in
            try OperationQueue().addOperationChecked(filter)
        }
        #expect(again?.kind == .inQueue)
        #expect(
            again?.description
                == "'filter' (ready) is in a queue already: make a new operation for each addition")
        let late = misuse { () throws(OperationMisuse) in try queue.addOperationChecked(done) }
        #expect(late?.kind == .alreadyFinished)
        #expect(queue.operations == [filter])
        queue.isSuspended = false
        await queue.drain()
    }

    @Test func addsAllOperationsOrNone() async throws {
        let queue = OperationQueue()
        let operations = (0..<600).map { named("\($0)") }
        let elsewhere = suspendedQueue()
        elsewhere.addOperation(operations[599])
        let misuse = misuse { () throws(OperationMisuse) in
            try queue.addOperationsChecked(operations)
        }
        #expect(misuse?.kind == .inQueue)
        #expect(queue.operationCount == 0)
        #expect(!operations[0].isFinished)
        // The operations of the refused array can still be used.
        operations[0].start()
        try queue.addOperationsChecked(Array(operations[1..<599]))
        await queue.drain()
        #expect(operations.dropLast().allSatisfy { $0.isFinished })
        elsewhere.isSuspended = false
        await elsewhere.drain()
    }

    @Test func refusesArrayThatContainsOperationTwice() {
        let queue = suspendedQueue()
        let (a, b) = (named("a"), named("b"))
        let misuse = misuse { () throws(OperationMisuse) in
            try queue.addOperationsChecked([a, b, a])
        }
        #expect(misuse?.kind == .duplicateOperation)
        #expect(
            misuse?.description == "'a' is given twice in one array of operations: "
                + "make a new operation for each addition")
        #expect(queue.operationCount == 0)
    }

    @Test func addsEveryKindOfOperation() async throws {
        let queue = OperationQueue()
        let ran = Tally()
        let cancelled = BlockOperation { ran.increment() }
        cancelled.cancel()
        let dependent = BlockOperation { ran.increment() }
        let subclass = DispatchedOperation { ran.increment() }
        dependent.addDependency(subclass)
        let asynchronous = TypedOperation<Void> { ran.increment() }
        try queue.addOperationsChecked([dependent, cancelled, subclass, asynchronous])
        await queue.drain()
        #expect(ran.value == 3)
    }

    @Test func atMostOneOfTwoThreadsAddsTheSameArray() async {
        for _ in 0..<300 {
            let ran = Tally()
            let operations = (0..<4).map { _ in BlockOperation { ran.increment() } }
            let queue = OperationQueue()
            let refusals = await withTaskGroup(of: Int.self) { group in
                for list in [operations, operations.reversed()] {
                    group.addTask {
                        do {
                            try queue.addOperationsChecked(list)
                            return 0
                        } catch {
                            return 1
                        }
                    }
                }
                return await group.reduce(0, +)
            }
            await queue.drain()
            // Both may be refused, if each has reserved a part of the array.
            #expect(ran.value == (refusals == 2 ? 0 : 4))
            #expect(refusals >= 1)
        }
    }

    // MARK: Configuring

    @Test func refusesDependencyThatClosesCycleAndKeepsGraph() throws {
        let (a, b, c) = (named("a"), named("b"), named("c"))
        try b.addDependencyChecked(a)
        try c.addDependencyChecked(b)
        let misuse = misuse { () throws(OperationMisuse) in try a.addDependencyChecked(c) }
        #expect(misuse?.kind == .dependencyCycle(["'a'", "'c'", "'b'", "'a'"]))
        #expect(
            misuse?.description
                == "the dependency would close a cycle, 'a' → 'c' → 'b' → 'a', in which nothing can "
                + "start: leave it out, or remove another one of the cycle first")
        #expect(a.dependencies.isEmpty && a.isReady)
        for operation in [a, b, c] { try operation.startChecked() }
        #expect(c.isFinished)
    }

    @Test func refusingDuplicateDependencyKeepsExistingOne() throws {
        let (a, b) = (named("a"), named("b"))
        b.addDependency(a)
        // The unchecked method only reports the cycle, to standard error.
        a.addDependency(b)
        #expect(throws: OperationMisuse.self) { try a.addDependencyChecked(b) }
        #expect(a.dependencies == [b])
        #expect(!a.isReady)
        a.removeDependency(b)
        #expect(a.isReady)
    }

    @Test func cancelledOperationClosesNoCycle() throws {
        let (a, b) = (named("a"), named("b"))
        try b.addDependencyChecked(a)
        a.cancel()
        try a.addDependencyChecked(b)
        #expect(a.isReady)
    }

    @Test func refusesSelfDependency() {
        let filter = named("filter")
        let misuse = misuse { () throws(OperationMisuse) in try filter.addDependencyChecked(filter)
        }
        #expect(misuse?.kind == .selfDependency)
        #expect(
            misuse?.description
                == "'filter' (in no queue) cannot depend on itself: remove this addDependency call")
    }

    @Test func refusesBlockAfterStart() throws {
        let ran = Tally()
        let filter = named("filter")
        try filter.addExecutionBlockChecked { ran.increment() }
        filter.start()
        let misuse = misuse { () throws(OperationMisuse) in
            try filter.addExecutionBlockChecked { ran.increment() }
        }
        #expect(misuse?.kind == .blockAddedAfterStart)
        #expect(
            misuse?.description
                == "'filter' (finished) takes no more blocks: add them before it starts")
        #expect(ran.value == 1 && filter.executionBlocks.count == 2)
    }

    @Test func refusesNegativeWidth() throws {
        let queue = OperationQueue()
        queue.name = "Download queue"
        try queue.setMaxConcurrentOperationCountChecked(3)
        let misuse = misuse { () throws(OperationMisuse) in
            try queue.setMaxConcurrentOperationCountChecked(-2)
        }
        #expect(misuse?.kind == .invalidWidth(-2))
        #expect(
            misuse?.description
                == "maxConcurrentOperationCount of queue 'Download queue' cannot be -2: "
                + "use 0 or more, or defaultMaxConcurrentOperationCount")
        #expect(queue.maxConcurrentOperationCount == 3)
        try queue.setMaxConcurrentOperationCountChecked(
            OperationQueue.defaultMaxConcurrentOperationCount)
    }
}
