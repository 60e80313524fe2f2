import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct DelayTests {
    @Test func delayedOperationIsNotReadyBeforeItsTime() async {
        let clock = ManualClock()
        let queue = OperationQueue(clock, width: 1)
        let order = TestRecorder<String>()
        let late = queue.add("late", .delay(.seconds(2))) { order.record("late") }
        #expect(!late.isReady)
        #expect(late.explain().description == "'late' is delayed for 2.0 s.")
        // A delayed operation takes no slot.
        let early = queue.add("early") { order.record("early") }
        await early.waitUntilFinished()
        await clock.sleepers(1)
        clock.advance(by: .milliseconds(1_600))
        #expect(late.explain().description == "'late' is delayed for 400 ms.")
        #expect(!late.isReady && !late.isFinished)
        await clock.advance(by: .milliseconds(400), whenSleepers: 1)
        await late.waitUntilFinished()
        #expect(order.events == ["early", "late"])
        await queue.drain()
    }

    @Test func cancelledDelayedOperationLeavesAtOnce() async {
        let clock = ManualClock()
        let queue = OperationQueue(clock)
        let ran = Tally()
        let late = queue.add(.delay(.seconds(2))) { ran.increment() }
        queue.isSuspended = true
        late.cancel()
        await queue.drain()
        #expect(late.isFinished && ran.value == 0)
        #expect(await clock.becomesQuiet())
    }

    @Test func delayedOperationAlsoWaitsForItsDependencies() async {
        let clock = ManualClock()
        let queue = OperationQueue(clock)
        let order = TestRecorder<String>()
        let gate = Signal()
        let first = BlockOperation {
            gate.wait()
            order.record("first")
        }
        let late = BlockOperation { order.record("late") }
        late.apply(.delay(.seconds(2)))
        late.addDependency(first)
        queue.addOperation(first)
        queue.addOperation(late)
        await clock.advance(by: .seconds(3), whenSleepers: 1)
        #expect(!late.isReady)
        gate.send()
        await queue.drain()
        #expect(order.events == ["first", "late"])
    }

    @Test func observersSeeTheChangesOfIsReady() async {
        let clock = ManualClock()
        let queue = OperationQueue(clock)
        let late = BlockOperation {}
        late.apply(.delay(.seconds(1)))
        let seen = TestRecorder<Bool>()
        let notified = Signal()
        let observation = late.observe(\.isReady, options: .new) { _, change in
            change.newValue.map { seen.record($0) }
            notified.send()
        }
        queue.addOperation(late)
        await clock.advance(by: .seconds(1), whenSleepers: 1)
        await queue.drain()
        #expect(notified.wait() && notified.wait())
        #expect(seen.events == [false, true])
        withExtendedLifetime(observation) {}
    }

    /// An operation that is started by hand runs once and immediately.
    @Test func startByHandIgnoresTimeTraits() {
        let ran = Tally()
        let operation = TypedOperation<Int> {
            ran.increment()
            throw NoConnection()
        }
        operation.apply(.delay(.seconds(1)), .retry(3), .timeout(.seconds(1)))
        operation.start()
        #expect(operation.isFinished && ran.value == 1)
        #expect(operation.error is NoConnection && operation.attempt == 1)
    }

    @Test func applyingTraitsToAnEnqueuedOperationTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let operation = BlockOperation {}
            operation.name = "filter"
            let queue = OperationQueue()
            queue.isSuspended = true
            queue.addOperation(operation)
            operation.apply(.delay(.seconds(1)))
        }
        expect(result, says: "'filter' (ready) takes no more traits: apply them before it is added")
    }
}
