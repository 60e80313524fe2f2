import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct TimeoutTests {
    @Test func timeoutStopsAnAsyncBodyAndFailsTheOperation() async {
        let clock = ManualClock()
        let queue = OperationQueue(clock)
        let gate = AsyncGate()
        let seen = TestRecorder<Bool>()
        let began = Tally()
        let slow = queue.add("slow", .timeout(.seconds(5))) { () async throws -> Int in
            began.increment()
            try? await gate.wait()
            seen.record(Task.isCancelled)
            seen.record(Operation.current?.isCancelled ?? false)
            return 1
        }
        let next = queue.add(after: slow) { $0 }
        #expect(await comesTrue { began.value == 1 })
        await clock.advance(by: .seconds(5), whenSleepers: 1)
        await #expect(throws: OperationTimeout(operation: "'slow'", duration: .seconds(5))) {
            try await slow.value
        }
        #expect(seen.events == [true, true])
        #expect(slow.status.outcome == .failed)
        #expect(slow.cancellationReason?.description == "'slow' took longer than 5.0 s")
        await queue.drain()
        #expect(
            next.cancellationReason?.description
                == "'slow' failed: 'slow' took longer than 5.0 s")
    }

    @Test func timeoutCallsTheCancelHandlerOfABlockedBody() async {
        let clock = ManualClock()
        let queue = OperationQueue(clock)
        let aborted = Signal()
        let slow = queue.add(.timeout(.seconds(1))) {
            Operation.current?.onCancel { aborted.send() }
            aborted.wait()
        }
        await clock.advance(by: .seconds(1), whenSleepers: 1)
        await queue.drain()
        #expect(slow.error is OperationTimeout && slow.isFinished)
    }

    /// An operation whose `cancel()` begins with the usual check of `isCancelled`.
    private final class Download: Operation, @unchecked Sendable {
        let aborted = Signal()
        override func main() { aborted.wait() }
        override func cancel() {
            guard !isCancelled else { return }
            super.cancel()
            aborted.send()
        }
    }

    @Test func timeoutCallsAnOverrideOfCancel() async {
        let clock = ManualClock()
        let queue = OperationQueue(clock)
        let download = Download()
        download.apply(.timeout(.seconds(1)))
        queue.addOperation(download)
        await clock.advance(by: .seconds(1), whenSleepers: 1)
        await queue.drain()
        #expect(download.error is OperationTimeout && download.isCancelled)
    }

    @Test func timeoutStopsASubclassThatManagesItsOwnState() async {
        final class Kept: StateKeepingOperation, @unchecked Sendable {
            override func main() {}
            override func cancel() {
                super.cancel()
                stage = .finished
            }
        }
        let clock = ManualClock()
        let queue = OperationQueue(clock)
        let kept = Kept()
        kept.apply(.timeout(.seconds(1)))
        queue.addOperation(kept)
        await clock.advance(by: .seconds(1), whenSleepers: 1)
        await queue.drain()
        #expect(kept.error is OperationTimeout)
    }

    @Test func operationThatEndsInTimeLeavesNoTimer() async throws {
        let clock = ManualClock()
        let queue = OperationQueue(clock)
        #expect(try await queue.add(.timeout(.seconds(1))) { 1 }.value == 1)
        #expect(try await queue.add(.timeout(.seconds(1))) { () async in 2 }.value == 2)
        await queue.drain()
        clock.advance(by: .seconds(2))
        #expect(await clock.becomesQuiet())
    }

    @Test func timedOutAttemptIsRetriedAndLeavesNoTrace() async throws {
        let clock = ManualClock()
        let queue = OperationQueue(clock)
        let gate = AsyncGate()
        let seen = TestRecorder<String>()
        let slow = queue.add("slow", .timeout(.seconds(5)), .retry(1, backoff: .none)) {
            let current = try #require(Operation.current)
            seen.record("\(current.attempt) \(current.isCancelled) \(Task.isCancelled)")
            if current.attempt == 1 { try await gate.wait() }
            return current.attempt
        }
        #expect(await comesTrue { seen.events.count == 1 })
        await clock.advance(by: .seconds(5), whenSleepers: 1)
        #expect(try await slow.value == 2)
        #expect(seen.events == ["1 false false", "2 false false"])
        #expect(!slow.isCancelled && slow.error == nil && slow.cancellationReason == nil)
    }

    /// The timeout expires inside `start()`, before the worker calls `main()`.
    @Test func attemptThatTimesOutInStartRunsAndIsRetried() async {
        final class Late: Operation, @unchecked Sendable {
            let clock: ManualClock
            let seen = TestRecorder<String>()
            init(_ clock: ManualClock) { self.clock = clock }

            override func start() {
                while attempt == 1, !isCancelled { clock.advance(by: .seconds(1)) }
                super.start()
            }

            override func main() { seen.record("\(attempt) \(isCancelled)") }
        }
        let clock = ManualClock()
        let queue = OperationQueue(clock)
        let late = Late(clock)
        late.apply(.timeout(.seconds(1)), .retry(1, backoff: .none))
        queue.addOperation(late)
        await queue.drain()
        #expect(late.seen.events == ["1 true", "2 false"])
        #expect(late.error == nil && !late.isCancelled)
    }

    @Test func cancellationAfterATimeoutIsNotLost() async {
        let clock = ManualClock()
        let queue = OperationQueue(clock)
        let (ready, stopped, proceed) = (Signal(), Signal(), Signal())
        let runs = Tally()
        let slow = queue.add(.timeout(.seconds(1)), .retry(3, backoff: .none)) {
            runs.increment()
            Operation.current?.onCancel { stopped.send() }
            ready.send()
            proceed.wait()
        }
        #expect(await ready.arrives())
        await clock.advance(by: .seconds(1), whenSleepers: 1)
        #expect(await stopped.arrives())
        slow.cancel(because: "enough")
        proceed.send()
        await queue.drain()
        #expect(runs.value == 1 && slow.isCancelled)
        #expect(slow.cancellationReason?.description == "enough")
        #expect(slow.error is OperationTimeout)
    }

    @Test(arguments: [true, false])
    func cancellationByATimedOutBodyIsNotLost(isAsync: Bool) async {
        let clock = ManualClock()
        let queue = OperationQueue(clock)
        let (ready, proceed) = (Signal(), AsyncGate())
        let runs = Tally()
        let slow = queue.add(.timeout(.seconds(1)), .retry(3, backoff: .none)) {
            () async throws in
            runs.increment()
            guard let own = Operation.current else { return }
            if isAsync {
                try await withTaskCancellationHandler {
                    ready.send()
                    try await proceed.wait()
                } onCancel: {
                    own.cancel(because: "enough")
                    proceed.open()
                }
            } else {
                own.onCancel {
                    own.cancel(because: "enough")
                    proceed.open()
                }
                ready.send()
                try await proceed.wait()
            }
        }
        #expect(await ready.arrives())
        await clock.advance(by: .seconds(1), whenSleepers: 1)
        await queue.drain()
        #expect(runs.value == 1 && slow.isCancelled)
        #expect(slow.cancellationReason?.description == "enough")
    }

    @Test func timeoutStopsBodiesThatOccupyAllProcessors() async {
        let queue = OperationQueue()
        let bodies = (0..<2 * WorkerPool.cores).map { _ in
            queue.add(.timeout(.milliseconds(5))) {
                while Operation.current?.isCancelled != true {}
            }
        }
        await queue.drain()
        #expect(bodies.allSatisfy { $0.error is OperationTimeout })
    }

    @Test func onlyHandlersOfTheBodyEndWithItsAttempt() async throws {
        let clock = ManualClock()
        let queue = OperationQueue(clock)
        let calls = TestRecorder<String>()
        let (second, stopped, proceed) = (Signal(), Signal(), Signal())
        let operation = TypedOperation<Void> {
            let attempt = Operation.current?.attempt ?? 0
            Operation.current?.onCancel {
                calls.record("\(attempt)")
                stopped.send()
            }
            if attempt == 1 { throw NoConnection() }
            second.send()
            proceed.wait()
        }
        operation.apply(.retry(1, backoff: .none))
        operation.onCancel { calls.record("outside") }
        queue.addOperation(operation)
        #expect(await second.arrives())
        operation.cancel()
        #expect(await stopped.arrives())
        proceed.send()
        await queue.drain()
        #expect(calls.events.sorted() == ["2", "outside"])
    }

    /// The timer of a finished attempt does not affect later attempts, whenever it fires.
    @Test(arguments: 0..<40)
    func lateTimerDoesNotAffectALaterAttempt(seed: Int) async {
        let clock = ManualClock()
        let queue = OperationQueue(clock)
        let ends = TestRecorder<Int>()
        let operation = TypedOperation<Int> {
            let attempt = Operation.current?.attempt ?? 0
            clock.advance(by: .seconds(1))
            for _ in 0..<seed * attempt * 10 { _ = clock.now }
            if attempt < 6 { throw NoConnection(number: attempt) }
            return attempt
        }
        operation.apply(.timeout(.seconds(1)), .retry(5, backoff: .none))
        operation.completionBlock = { ends.record(operation.attempt) }
        queue.addOperation(operation)
        await queue.drain()
        #expect(operation.attempt == 6 && operation.isFinished)
        let isExpected = operation.error == nil || operation.error is OperationTimeout
        #expect(isExpected, "\(String(describing: operation.error))")
    }
}
