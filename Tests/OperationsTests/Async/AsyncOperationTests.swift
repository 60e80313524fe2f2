import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct AsyncOperationTests {
    @Test func finishesWhenBodyReturns() async {
        let queue = OperationQueue()
        let gate = UncancellableGate()
        let ran = Tally()
        let operation = TypedOperation<Void> {
            await gate.wait()
            ran.increment()
        }
        queue.addOperation(operation)
        #expect(!operation.isFinished)
        gate.open()
        await queue.drain()
        #expect(ran.value == 1)
        #expect(operation.isFinished && operation.isAsynchronous)
        #expect(operation.error == nil)
    }

    @Test func keepsSlotUntilBodyReturns() async {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 2
        let inside = Occupancy()
        for _ in 0..<100 {
            queue.addOperation(
                TypedOperation<Void> {
                    inside.enter()
                    await Task.yield()
                    inside.leave()
                })
        }
        await queue.drain()
        #expect(inside.highest <= 2)
    }

    @Test func keepsErrorThrownByBody() async {
        struct Failure: Error, Equatable {}
        let operation = TypedOperation<Void> { throw Failure() }
        operation.start()
        await operation.waitUntilFinished()
        #expect(operation.error as? Failure == Failure())
        #expect(operation.isFinished)
    }

    @Test func cancellingOperationCancelsItsTask() async {
        let began = UncancellableGate()
        let operation = TypedOperation<Void> {
            began.open()
            try await untilCancelled()
        }
        let queue = OperationQueue()
        queue.addOperation(operation)
        await began.wait()
        operation.cancel()
        await queue.drain()
        #expect(operation.error is CancellationError)
    }

    @Test func bodyNeverRunsIfCancelledBeforeStart() async {
        let ran = Tally()
        let operation = TypedOperation<Void> { ran.increment() }
        operation.cancel()
        let queue = OperationQueue()
        queue.addOperation(operation)
        await queue.drain()
        #expect(ran.value == 0)
        #expect(operation.isFinished)
    }

    /// The cancellation may come at any moment around the start. The operation must end each time.
    @Test func operationCancelledDuringStartAlwaysEnds() async {
        for _ in 0..<1_000 {
            let operation = TypedOperation<Void> { try await untilCancelled() }
            let queue = OperationQueue()
            queue.addOperation(operation)
            operation.cancel()
            await queue.drain()
        }
    }

    @Test func subclassMayOverrideMain() async {
        final class Answer: TypedOperation<Void>, @unchecked Sendable {
            let output = Locked<Int?>(nil)
            override func main() async throws {
                await Task.yield()
                output.withLock { $0 = 42 }
            }
        }
        let operation = Answer()
        await OperationQueue().addOperations([operation], waitUntilFinished: true)
        #expect(operation.output.withLock { $0 } == 42)
    }

    @Test func bodyInheritsTaskLocalsOfItsCreator() async {
        let seen = TestRecorder<String>()
        let queue = OperationQueue()
        Label.$value.withValue("creator") {
            queue.addOperation(
                TypedOperation<Void> {
                    await Task.yield()
                    seen.record(Label.value)
                })
        }
        await queue.drain()
        #expect(seen.events == ["creator"])
    }

    @Test func currentIsQueueInsideBody() async {
        let seen = TestRecorder<Bool>()
        let queue = OperationQueue()
        queue.addOperation(
            TypedOperation<Void> {
                await Task.yield()
                seen.record(OperationQueue.current === queue)
            })
        await queue.drain()
        #expect(seen.events == [true])
    }

    @Test func unstartedOperationIsFreed() async {
        final class Token: Sendable {}
        weak var weakToken: Token?
        do {
            let token = Token()
            weakToken = token
            _ = TypedOperation<Void> { _ = token }
        }
        // The prepared task soon ends by itself.
        #expect(await comesTrue { weakToken == nil })
    }
}
