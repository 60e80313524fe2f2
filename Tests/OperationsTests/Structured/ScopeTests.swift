import Dispatch
import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct ScopeTests {
    struct Broken: Error, Equatable, CustomStringConvertible {
        var name = "no connection"
        var description: String { name }
    }

    // MARK: Returning

    @Test func scopeReturnsTheBodysResultAfterAllOperationsEnd() async throws {
        let ran = Tally()
        let result = try await withOperationQueue(name: "scope", width: 2) { queue in
            #expect(queue.name == "scope" && queue.maxConcurrentOperationCount == 2)
            #expect(type(of: queue) == OperationQueue.self)
            for _ in 0..<10 {
                queue.add {
                    await Task.yield()
                    ran.increment()
                    queue.addOperation {
                        queue.add { ran.increment() }
                        ran.increment()
                    }
                }
            }
            queue.addBarrierBlock { ran.increment() }
            return "done"
        }
        #expect(result == "done" && ran.value == 31)
    }

    @Test func emptyScopeReturns() async throws {
        #expect(try await withOperationQueue { _ in 7 } == 7)
    }

    @Test func resultNeedNotBeSendable() async throws {
        final class Plain { var number = 0 }
        let plain = Plain()
        let same = try await withOperationQueue { queue in
            plain.number = try await queue.add { 3 }.value
            return plain
        }
        #expect(same === plain && plain.number == 3)
    }

    @MainActor @Test func bodyStaysOnItsActor() async throws {
        var number = 0
        try await withOperationQueue { queue in
            MainActor.assertIsolated()
            number = try await queue.add { 3 }.value
        }
        #expect(number == 3)
    }

    // MARK: Failures

    @Test(arguments: [true, false])
    func firstFailureCancelsTheRestAndIsThrown(isAsync: Bool) async {
        let seen = TestRecorder<TypedOperation<Void>>()
        await #expect(throws: Broken()) {
            try await withOperationQueue { queue in
                let gate = UncancellableGate()
                seen.record(
                    queue.add("sleep") {
                        gate.open()
                        try await untilCancelled()
                    })
                await gate.wait()
                let never = Operation()
                let waiting = TypedOperation<Void> {}
                waiting.addDependency(never)
                queue.addOperation(waiting)
                seen.record(waiting)
                if isAsync {
                    queue.add("upload") { () async throws in throw Broken() }
                } else {
                    queue.add("upload") { () throws in throw Broken() }
                }
            }
        }
        for operation in seen.events {
            #expect(operation.isCancelled && operation.isFinished)
            #expect(
                operation.cancellationReason?.description
                    == "'upload' of the same scope failed: no connection")
        }
    }

    @Test func catchingAnOperationsErrorDoesNotHandleItsFailure() async {
        await #expect(throws: Broken()) {
            try await withOperationQueue { queue in
                let upload = queue.add { () throws -> Int in throw Broken() }
                _ = try? await upload.value
            }
        }
    }

    @Test func scopeThrowsTheFailureAndNotItsConsequences() async {
        await #expect(throws: Broken()) {
            try await withOperationQueue { queue in
                let waiting = queue.add { try await untilCancelled() }
                queue.add { () throws in throw Broken() }
                // This throws the cancellation of `waiting`.
                try await waiting.value
            }
        }
    }

    @Test(arguments: [false, true])
    func handledFailureDoesNotEndTheScope(isBehindAnother: Bool) async throws {
        let ran = TestRecorder<String>()
        try await withOperationQueue { queue in
            let upload = TypedOperation { () throws -> Int in throw Broken() }
            let receipt = TypedOperation(after: upload) { _ in ran.record("receipt") }
            let cleanUp = BlockOperation { ran.record("clean up") }
            cleanUp.addDependency(isBehindAnother ? receipt : upload, on: .failure)
            let all: [Operation] = [upload, receipt, cleanUp]
            await queue.addOperations(all, waitUntilFinished: true)
            queue.add { ran.record("rest") }
        }
        #expect(ran.events == ["clean up", "rest"])
    }

    /// The handler leaves its queue sooner or later than the failure comes.
    @Test func cancelledHandlerDoesNotHandleAFailure() async {
        for _ in 0..<3_000 {
            await #expect(throws: Broken()) {
                try await withOperationQueue { queue in
                    let upload = TypedOperation { () throws -> Int in throw Broken() }
                    let cleanUp = BlockOperation {}
                    cleanUp.addDependency(upload, on: .failure)
                    cleanUp.cancel()
                    await queue.addOperations([cleanUp, upload], waitUntilFinished: false)
                }
            }
        }
    }

    @Test func handlerThatIsAddedAfterItsCancellationDoesNotHandleAFailure() async {
        await #expect(throws: Broken()) {
            try await withOperationQueue { queue in
                let upload = queue.add { () throws -> Int in throw Broken() }
                await upload.finished()
                let cleanUp = BlockOperation {}
                cleanUp.addDependency(upload, on: .failure)
                cleanUp.cancel()
                queue.addOperation(cleanUp)
            }
        }
    }

    @Test func cancellingOneOperationDoesNotEndTheScope() async throws {
        let ran = Tally()
        try await withOperationQueue { queue in
            queue.isSuspended = true
            let first = queue.add { ran.increment() }
            queue.add { ran.increment() }
            first.cancel()
            queue.isSuspended = false
        }
        #expect(ran.value == 1)
    }

    @Test func failureReportedByASubclassEndsTheScope() async {
        final class Callback: Operation, @unchecked Sendable {
            override func main() { fail(Broken()) }
        }
        await #expect(throws: Broken()) {
            try await withOperationQueue { $0.addOperation(Callback()) }
        }
    }

    @Test func operationsAddedAfterAFailureNeverStart() async {
        let ran = Tally()
        await #expect(throws: Broken()) {
            try await withOperationQueue { queue in
                let upload = queue.add("upload") { () throws in throw Broken() }
                await upload.waitUntilFinished()
                let late = queue.add { ran.increment() }
                queue.addOperation { ran.increment() }
                queue.addBarrierBlock { ran.increment() }
                await queue.addOperations(
                    [BlockOperation { ran.increment() }], waitUntilFinished: false)
                #expect(throws: Never.self) {
                    try queue.addOperationsChecked([BlockOperation { ran.increment() }])
                }
                await queue.drain()
                if case .siblingFailed("'upload'", _)? = late.cancellationReason {
                } else {
                    Issue.record("\(String(describing: late.cancellationReason))")
                }
            }
        }
        #expect(ran.value == 0)
    }

    @Test func errorOfTheBodyCancelsTheRest() async {
        let seen = TestRecorder<TypedOperation<Void>>()
        await #expect(throws: Broken()) {
            try await withOperationQueue { queue in
                seen.record(queue.add { try await untilCancelled() })
                throw Broken()
            }
        }
        #expect(seen.events.first?.isFinished == true)
        #expect(
            seen.events.first?.cancellationReason?.description
                == "its scope failed: no connection")
    }

    @Test func scopeEndsIfOperationsFailWhileOthersAreAdded() async {
        for round in 0..<(400 / slowness) {
            let running = Occupancy()
            await #expect(throws: Broken.self) {
                try await withOperationQueue { queue in
                    for index in 0..<20 {
                        queue.add {
                            running.enter()
                            defer { running.leave() }
                            if index % 7 == round % 7 { throw Broken() }
                            queue.addOperation {
                                running.enter()
                                running.leave()
                            }
                        }
                    }
                }
            }
            #expect(running.now == 0)
        }
    }

    @Test func attemptThatIsRetriedIsNoFailure() async throws {
        let attempts = Tally()
        let result = try await withOperationQueue { queue in
            queue.add(.retry(2, backoff: .constant(.zero))) {
                if attempts.increment() < 3 { throw Broken() }
            }
            return 7
        }
        #expect(result == 7 && attempts.value == 3)
    }

    @Test func failureOfTheLastAttemptEndsTheScope() async {
        let attempts = Tally()
        let siblings = suspendedQueue()
        await #expect(throws: Broken()) {
            try await withOperationQueue { queue in
                let never = siblings.add {}
                queue.add("sibling", after: never) { _ in }
                queue.add(.retry(2, backoff: .constant(.zero))) {
                    attempts.increment()
                    throw Broken()
                }
            }
        }
        #expect(attempts.value == 3)
        siblings.cancelAllOperations()
    }

    // MARK: Cancellation

    @Test func cancellingTheTaskCancelsTheOperations() async {
        let (began, seen) = (UncancellableGate(), TestRecorder<TypedOperation<Void>>())
        let task = Task {
            try await withOperationQueue { queue in
                seen.record(
                    queue.add {
                        began.open()
                        try await untilCancelled()
                    })
                await seen.events[0].waitUntilFinished()
                return 1
            }
        }
        await began.wait()
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        if case .taskCancelled? = seen.events[0].cancellationReason {
        } else {
            Issue.record("\(String(describing: seen.events[0].cancellationReason))")
        }
    }

    @Test(arguments: [true, false])
    func bodysOwnErrorTakesPrecedenceOverCancellation(isItsOwn: Bool) async {
        let began = UncancellableGate()
        let task = Task {
            try await withOperationQueue { queue in
                let operation = queue.add {
                    began.open()
                    try await untilCancelled()
                }
                do {
                    try await operation.value
                } catch {
                    throw isItsOwn ? Broken() : error
                }
            }
        }
        await began.wait()
        task.cancel()
        let error = await #expect(throws: (any Error).self) { try await task.value }
        #expect(isItsOwn ? error is Broken : error is CancellationError)
    }

    @Test func nothingStartsInACancelledTask() async {
        let ran = Tally()
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await withOperationQueue { queue in
                queue.add { ran.increment() }
                queue.addOperation { ran.increment() }
            }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(ran.value == 0)
    }

    // MARK: Inherited values

    @Test func everyBodyHasTheTaskLocalValues() async throws {
        final class Subclass: Operation, @unchecked Sendable {
            let seen: TestRecorder<String>
            init(_ seen: TestRecorder<String>) { self.seen = seen }
            override func main() { seen.record("subclass \(Label.value)") }
        }
        let seen = TestRecorder<String>()
        try await Label.$value.withValue("outer") {
            try await withOperationQueue { queue in
                queue.addOperation { seen.record("block \(Label.value)") }
                queue.addOperation(Subclass(seen))
                queue.addBarrierBlock { seen.record("barrier \(Label.value)") }
                queue.add { seen.record("sync \(Label.value)") }
                queue.add {
                    await Task.yield()
                    seen.record("async \(Label.value)")
                }
                let number = queue.add { 1 }
                queue.add(after: number) { _ in seen.record("after \(Label.value)") }
                queue.add(after: [number]) { _ in seen.record("after all \(Label.value)") }
                Label.$value.withValue("inner") {
                    _ = queue.add { seen.record("inner sync \(Label.value)") }
                    _ = queue.add { () async in seen.record("inner async \(Label.value)") }
                }
                // This thread runs no task.
                await onThread { queue.addOperation { seen.record("thread \(Label.value)") } }
            }
        }
        #expect(
            seen.events.sorted() == [
                "after all outer", "after outer", "async outer", "barrier outer", "block outer",
                "inner async inner", "inner sync inner", "subclass outer", "sync outer",
                "thread outer",
            ])
    }

    @Test func operationsInheritThePriorityOfTheTask() async throws {
        let seen = TestRecorder<TaskPriority>()
        let task = Task(priority: .high) {
            try await withOperationQueue { queue in
                queue.add { seen.record(Task.currentPriority) }
                queue.add { () async in seen.record(Task.currentPriority) }
                queue.addOperation { seen.record(Task.currentPriority) }
            }
        }
        try await task.value
        #expect(seen.events == [.high, .high, .high])
    }

    @Test func currentQueueAndOperationMatchTheBody() async throws {
        let outer = serialQueue()
        let operation = outer.add("outer") {
            try await withOperationQueue { queue in
                #expect(OperationQueue.current === outer)
                let block = BlockOperation {
                    #expect(OperationQueue.current === queue && Operation.current?.name == "block")
                }
                block.name = "block"
                queue.addOperation(block)
                queue.add("sync") {
                    #expect(OperationQueue.current === queue && Operation.current?.name == "sync")
                }
            }
        }
        try await operation.value
    }

    // MARK: Nesting, lifetime and misuse

    @Test func scopeWorksInsideASerialQueue() async throws {
        let outer = serialQueue()
        let sums = (0..<10).map { number in
            outer.add {
                try await withOperationQueue(width: 1) { queue in
                    let parts = (0..<10).map { part in queue.add { number * part } }
                    return try await parts.values().reduce(0, +)
                }
            }
        }
        #expect(try await sums.values() == (0..<10).map { $0 * 45 })
    }

    @Test func failureOfANestedScopeEndsTheOuterScope() async {
        await #expect(throws: Broken()) {
            try await withOperationQueue { outer in
                outer.add("inner") {
                    try await withOperationQueue { inner in
                        _ = inner.add { () throws in throw Broken() }
                    }
                }
            }
        }
    }

    @Test func blockedOperationsDoNotDelayOthers() async throws {
        let (ran, signal) = (Tally(), Signal())
        try await withOperationQueue { queue in
            for _ in 0..<8 {
                queue.addOperation {
                    let inner = queue.add {
                        if ran.increment() == 8 { for _ in 0..<8 { signal.send() } }
                    }
                    inner.waitUntilFinished()
                    signal.wait()
                }
            }
        }
        #expect(ran.value == 8)
    }

    @Test func scopeWaitsForManyPlainOperations() async throws {
        let ran = Tally()
        let count = 200_000 / slowness
        try await withOperationQueue { queue in
            for _ in 0..<count { queue.addOperation { ran.increment() } }
        }
        #expect(ran.value == count)
    }

    @Test func underlyingQueueMayBeSet() async throws {
        let ran = Tally()
        try await withOperationQueue { queue in
            queue.underlyingQueue = DispatchQueue(label: "below")
            queue.addOperation { ran.increment() }
            await queue.drain()
            queue.underlyingQueue = nil
            queue.addOperation { ran.increment() }
        }
        #expect(ran.value == 2)
    }

    @Test func queueIsReleasedWithItsScope() async throws {
        weak var weakQueue: OperationQueue?
        try await withOperationQueue { queue in
            weakQueue = queue
            queue.addOperation {}
        }
        #expect(await comesTrue { weakQueue == nil })
    }

    @Test func explanationNamesTheScopeThatAnOperationAwaits() async throws {
        let (outer, gate, began) = (OperationQueue(), UncancellableGate(), UncancellableGate())
        let operation = outer.add("outer") {
            try await withOperationQueue(name: "scope") { queue in
                _ = queue.add("inner") {
                    began.open()
                    await gate.wait()
                }
            }
        }
        await began.wait()
        #expect(
            await comesTrue {
                "\(operation.explain())".hasPrefix(
                    "'outer' is executing, and waits for all operations of queue 'scope'.")
            })
        gate.open()
        try await operation.value
    }

    @Test func addingAfterTheScopeHasEndedIsRejected() async throws {
        let queue = try await withOperationQueue { $0 }
        #expect(throws: OperationMisuse.self) { try queue.addOperationChecked(Operation()) }
        let error = #expect(throws: OperationMisuse.self) {
            try queue.addOperationsChecked([named("late")])
        }
        #expect(error?.kind == .scopeEnded)
        #expect(queue.operationCount == 0)
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = try await withOperationQueue { $0 }
            queue.add("late") {}
        }
        expect(
            result,
            says:
                "was added to the queue of a withOperationQueue that has returned: add it in its body "
                + "or in an operation of it, or use a queue of your own")
    }
}
