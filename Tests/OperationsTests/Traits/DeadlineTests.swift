import OperationsTestSupport
import Testing

@testable import Operations

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct DeadlineTests {
    @Test func operationNotStartedByItsDeadlineSkipsItsBody() async {
        let clock = ManualClock()
        let queue = OperationQueue(clock)
        queue.isSuspended = true
        let ran = Tally()
        let late = queue.add("late", .deadline(in: .seconds(10))) { ran.increment() }
        await clock.advance(by: .seconds(10), whenSleepers: 1)
        await queue.drain()
        #expect(ran.value == 0)
        #expect(throws: OperationDeadlineExceeded(operation: "'late'", hasStarted: false)) {
            try late.result
        }
        #expect(late.error.map { "\($0)" } == "'late' had not started by its deadline")
    }

    @Test func deadlineStopsARunningOperationWithoutRetry() async {
        let clock = ManualClock()
        let queue = OperationQueue(clock)
        let gate = AsyncGate()
        let (runs, started) = (Tally(), Signal())
        let late = queue.add("late", .deadline(in: .seconds(10)), .retry(5)) {
            runs.increment()
            started.send()
            try await gate.wait()
        }
        #expect(await started.arrives())
        await clock.advance(by: .seconds(10), whenSleepers: 1)
        await #expect(throws: OperationDeadlineExceeded(operation: "'late'", hasStarted: true)) {
            try await late.value
        }
        #expect(runs.value == 1)
        await queue.drain()
    }

    @Test func deadlineEndsTheWaitForTheNextAttempt() async {
        let clock = ManualClock()
        let queue = OperationQueue(clock)
        let late = queue.add(
            .deadline(in: .seconds(10)), .retry(5, backoff: .constant(.seconds(60)))
        ) { throw NoConnection() }
        await clock.advance(by: .seconds(10), whenSleepers: 2)
        await queue.drain()
        #expect(late.error is OperationDeadlineExceeded && late.status.outcome == .failed)
        #expect(await clock.becomesQuiet())
    }

    @Test func deadlineMayUseAnotherClock() async {
        let clock = ManualClock()
        clock.advance(by: .seconds(100))
        let moment = clock.now.advanced(by: .seconds(3))
        let queue = OperationQueue(clock)
        queue.isSuspended = true
        let late = queue.add(.deadline(moment, on: clock)) {}
        let past = queue.add(.deadline(clock.now, on: clock)) {}
        await past.waitUntilFinished()
        #expect(past.error is OperationDeadlineExceeded)
        await clock.advance(by: .seconds(2), whenSleepers: 1)
        #expect(!late.isFinished)
        clock.advance(by: .seconds(1))
        await queue.drain()
        #expect(late.error is OperationDeadlineExceeded)
    }

    @Test func operationThatMeetsItsDeadlineLeavesNoTimer() async throws {
        let clock = ManualClock()
        let queue = OperationQueue(clock)
        let kept = queue.add(.deadline(in: .seconds(1))) { 1 }
        #expect(try await kept.value == 1)
        await queue.drain()
        clock.advance(by: .seconds(2))
        #expect(await clock.becomesQuiet() && kept.error == nil)
    }
}
