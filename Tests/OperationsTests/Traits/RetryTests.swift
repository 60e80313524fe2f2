import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct RetryTests {
    @TaskLocal static var label = "none"

    @Test func operationIsRetriedUntilItSucceeds() async throws {
        let clock = ManualClock()
        let queue = OperationQueue(clock, width: 1)
        let completions = Tally()
        let order = TestRecorder<String>()
        let feed = TypedOperation<Int> {
            let attempt = Operation.current?.attempt ?? 0
            order.record("attempt \(attempt)")
            guard attempt == 3 else { throw NoConnection(number: attempt) }
            return attempt
        }
        feed.name = "feed"
        feed.apply(.retry(3, backoff: .constant(.milliseconds(400))))
        feed.completionBlock = { completions.increment() }
        queue.addOperation(feed)
        await clock.sleepers(1)
        #expect(!feed.isExecuting && !feed.isReady && !feed.isFinished && feed.error == nil)
        #expect(
            feed.explain().description
                == "'feed' waits 400 ms before attempt 2 of 4: no connection."
        )
        #expect(queue.operationCount == 1)
        // The only slot is free between two attempts.
        await queue.add { order.record("other") }.waitUntilFinished()
        clock.advance(by: .milliseconds(400))
        await clock.advance(by: .milliseconds(400), whenSleepers: 1)
        #expect(try await feed.value == 3)
        await queue.drain()
        #expect(order.events == ["attempt 1", "other", "attempt 2", "attempt 3"])
        #expect(feed.attempt == 3 && feed.error == nil)
        #expect(await comesTrue { completions.value != 0 })
        #expect(completions.value == 1)
    }

    @Test(arguments: [true, false])
    func operationFailsWithTheErrorOfItsLastAttempt(isAsync: Bool) async {
        let queue = OperationQueue(ManualClock())
        let runs = Tally()
        let trait = OperationTrait.retry(2, backoff: .none)
        let feed =
            isAsync
            ? queue.add(trait) { () async throws in throw NoConnection(number: runs.increment()) }
            : queue.add(trait) { throw NoConnection(number: runs.increment()) }
        await queue.drain()
        #expect(runs.value == 3)
        #expect(feed.error as? NoConnection == NoConnection(number: 3))
    }

    /// A cancelled operation can leave its queue before the thread that has ended the attempt
    /// returns the attempt's slot. That thread reads the clock in between.
    @Test func slotIsReturnedAfterTheOperationHasLeft() async {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 2
        let feed = TypedOperation<Void> { throw NoConnection(number: 1) }
        feed.apply(.retry(1, backoff: .constant(.seconds(3600))))
        let hasLeft = Latch()
        feed.completionBlock = { hasLeft.open() }
        let clock = TimeSource.continuous
        queue.time = TimeSource(
            now: { [weak feed] in
                if let feed, feed.status.phase == .waiting, !feed.isCancelled {
                    feed.cancel()
                    hasLeft.wait()
                }
                return clock.now()
            },
            scheduler: { clock.schedule(after: $0, named: $1, $2) })
        queue.addOperation(feed)
        await queue.drain()
        #expect(feed.isCancelled)
        #expect(await comesTrue { queue.snapshot { $0.slots.taken } == 0 })
    }

    @Test func retryConditionDecidesWhichErrorsAreRetried() async {
        let queue = OperationQueue(ManualClock())
        let runs = Tally()
        let feed = queue.add(
            .retry(5, backoff: .none, if: { ($0 as? NoConnection)?.number ?? 0 < 2 })
        ) { throw NoConnection(number: runs.increment()) }
        await queue.drain()
        #expect(runs.value == 2 && feed.error as? NoConnection == NoConnection(number: 2))
    }

    /// An error may ask for a longer wait than the back-off, as a server's response does.
    @Test func errorDecidesOnRetryAndShortestWait() async {
        let clock = ManualClock()
        let queue = OperationQueue(clock)
        let runs = Tally()
        let feed = queue.add(
            "feed",
            .retry(5, backoff: .constant(.seconds(1))) { error in
                switch (error as? NoConnection)?.number {
                case 1: .retry(after: .seconds(9))
                case 2: .retry(after: .milliseconds(1))
                case 3: .retry()
                default: .stop
                }
            }
        ) { throw NoConnection(number: runs.increment()) }
        for (attempt, seconds) in [(2, 9), (3, 1), (4, 1)] {
            await clock.sleepers(1)
            let text = feed.explain().description
            #expect(text.hasPrefix("'feed' waits \(seconds).0 s before attempt \(attempt) of 6"))
            clock.advance(by: .seconds(seconds))
            #expect(await comesTrue { runs.value == attempt })
        }
        await queue.drain()
        #expect(runs.value == 4 && feed.error as? NoConnection == NoConnection(number: 4))
    }

    /// The first attempt ends before the code that creates its task has a reference to the task.
    @Test(arguments: Place.allCases)
    func secondAttemptCanBeCancelled(_ place: Place) async {
        let queue = OperationQueue()
        let runs = Tally()
        let operation = await place.make {
            queue.add(.retry(3, backoff: .none)) { () async throws in
                if runs.increment() == 1 { throw NoConnection() }
                try await untilCancelled()
            }
        }
        #expect(await comesTrue { runs.value == 2 })
        operation.cancel()
        await operation.waitUntilFinished()
        #expect(runs.value == 2 && operation.isCancelled)
    }

    @Test(arguments: [true, false])
    func operationCancelledBetweenAttemptsLeavesAtOnce(isSuspended: Bool) async {
        let clock = ManualClock()
        let queue = OperationQueue(clock)
        let runs = Tally()
        let feed = queue.add(.retry(3, backoff: .constant(.seconds(60)))) {
            runs.increment()
            throw NoConnection()
        }
        await clock.sleepers(1)
        queue.isSuspended = isSuspended
        feed.cancel()
        await queue.drain()
        #expect(runs.value == 1 && feed.isCancelled && feed.isFinished)
        #expect(feed.status.outcome == .cancelled && feed.error == nil)
        #expect(await clock.becomesQuiet())
    }

    @Test func cancellingTheQueueEndsAllRetries() async {
        let clock = ManualClock()
        let queue = OperationQueue(clock)
        for _ in 0..<20 {
            queue.add(.retry(3, backoff: .constant(.seconds(60)))) { throw NoConnection() }
        }
        await clock.sleepers(20)
        queue.cancelAllOperations()
        await queue.drain()
        #expect(await clock.becomesQuiet() && queue.operationCount == 0)
    }

    @Test func dependentsBarriersAndWaitsWaitForTheLastAttempt() async throws {
        let clock = ManualClock()
        let queue = OperationQueue(clock)
        let order = TestRecorder<String>()
        let feed = queue.add("feed", .retry(1, backoff: .constant(.seconds(1)))) {
            let attempt = Operation.current?.attempt ?? 0
            order.record("attempt \(attempt)")
            if attempt == 1 { throw NoConnection() }
            return attempt
        }
        let list = queue.add(after: feed) { order.record("list \($0)") }
        queue.addBarrierBlock { order.record("barrier") }
        queue.add { order.record("later") }
        await clock.advance(by: .seconds(1), whenSleepers: 1)
        await queue.drain()
        #expect(list.isFinished)
        #expect(order.events == ["attempt 1", "attempt 2", "list 2", "barrier", "later"])
    }

    @Test func observersSeeTheStateChangesOfEachAttempt() async {
        let clock = ManualClock()
        let queue = OperationQueue(clock)
        let feed = TypedOperation<Void> {
            if Operation.current?.attempt == 1 { throw NoConnection() }
        }
        feed.apply(.retry(1, backoff: .constant(.seconds(1))))
        let seen = TestRecorder<String>()
        let notified = Signal()
        let observations = [
            feed.observe(\.isExecuting, options: .new) { _, change in
                seen.record("executing \(change.newValue ?? false)")
            },
            feed.observe(\.isReady, options: .new) { _, change in
                seen.record("ready \(change.newValue ?? false)")
            },
            feed.observe(\.isFinished, options: .new) { _, change in
                seen.record("finished \(change.newValue ?? false)")
                notified.send()
            },
        ]
        queue.addOperation(feed)
        await clock.advance(by: .seconds(1), whenSleepers: 1)
        await queue.drain()
        #expect(await notified.arrives())
        let values = seen.events
        #expect(values.filter { $0.hasPrefix("ready") } == ["ready false", "ready true"])
        #expect(
            values.filter { !$0.hasPrefix("ready") } == [
                "executing true", "executing false", "executing true", "executing false",
                "finished true",
            ])
        withExtendedLifetime(observations) {}
    }

    @Test func subclassThatReportsAFailureIsRetried() async {
        final class Upload: Operation, @unchecked Sendable {
            let runs = Tally()
            override func main() { if runs.increment() < 3 { fail(NoConnection()) } }
        }
        let queue = OperationQueue(ManualClock())
        let upload = Upload()
        upload.apply(.retry(5, backoff: .none))
        queue.addOperation(upload)
        await queue.drain()
        #expect(
            upload.runs.value == 3 && upload.error == nil && upload.status.outcome == .succeeded)
    }

    @Test func asyncSubclassIsRetried() async throws {
        final class Upload: TypedOperation<Int>, @unchecked Sendable {
            override func main() async throws -> Int {
                await Task.yield()
                guard attempt == 3 else { throw NoConnection() }
                return attempt
            }
        }
        let queue = OperationQueue(ManualClock())
        let upload = Upload()
        upload.apply(.retry(5, backoff: .none))
        queue.addOperation(upload)
        #expect(try await upload.value == 3)
    }

    @Test func eachAttemptHasTheTaskLocalValues() async throws {
        let queue = OperationQueue(ManualClock())
        let seen = TestRecorder<String>()
        let operation = Self.$label.withValue("mine") {
            queue.add(.retry(3, backoff: .none)) { () async throws in
                await Task.yield()
                seen.record(Self.label)
                if Operation.current?.attempt ?? 4 < 4 { throw NoConnection() }
            }
        }
        try await operation.value
        #expect(seen.events == ["mine", "mine", "mine", "mine"])
    }

    @Test func invocationIsRetriedAndReleasesItsTarget() async throws {
        final class Store: Sendable {
            let calls = Tally()
            func load(_ name: String) throws -> Int {
                if calls.increment() < 3 { throw NoConnection() }
                return name.count
            }
        }
        weak var target: Store?
        let load: InvocationOperation<Int>
        do {
            let store = Store()
            target = store
            load = InvocationOperation(target: store, method: Store.load, argument: "abc")
        }
        load.apply(.retry(3, backoff: .none))
        OperationQueue(ManualClock()).addOperation(load)
        #expect(try await load.value == 3)
        #expect(await comesTrue { target == nil })
    }

    @Test func bodyIsReleasedAfterTheLastAttempt() async {
        let queue = OperationQueue(ManualClock())
        weak var held: Tally?
        let operation: TypedOperation<Int>
        do {
            let counter = Tally()
            held = counter
            operation = TypedOperation {
                if counter.increment() < 2 { throw NoConnection() }
                return 1
            }
        }
        operation.apply(.retry(1, backoff: .none))
        queue.addOperation(operation)
        await queue.drain()
        #expect(operation.isFinished)
        #expect(await comesTrue { held == nil })
    }

    @Test func allAttemptsCountAsOneUnitOfProgress() async {
        let queue = OperationQueue(ManualClock())
        queue.progress.totalUnitCount = 4
        for isAsync in [true, false] {
            let trait = OperationTrait.retry(2, backoff: .none)
            let operation =
                isAsync
                ? queue.add(trait) { () async throws in throw NoConnection() }
                : queue.add(trait) { throw NoConnection() }
            await operation.finished()
            #expect(operation.error is NoConnection)
        }
        #expect(queue.progress.completedUnitCount == 2)
    }

    @Test func manyOperationsRunTheirExactNumberOfAttempts() async {
        let queue = OperationQueue(ManualClock(), width: 4)
        let inside = Occupancy()
        let runs = Tally()
        let operations = (0..<2_000).map { index in
            queue.add(.retry(index % 4, backoff: .none)) {
                inside.enter()
                defer { inside.leave() }
                runs.increment()
                throw NoConnection()
            }
        }
        await queue.drain()
        #expect(runs.value == 500 * (1 + 2 + 3 + 4))
        #expect(inside.highest <= 4)
        #expect(operations.allSatisfy { $0.error is NoConnection })
    }

    // MARK: Back-off

    @Test func backoffGrowsUpToItsLimit() {
        let random = RandomSource.system
        let exponential = RetryBackoff.exponential(
            from: .milliseconds(100), factor: 2, max: .seconds(1), jitter: .none)
        let waits = (1...6).map { exponential.wait(beforeRetry: $0, using: random) }
        #expect(waits == [100, 200, 400, 800, 1_000, 1_000].map { .milliseconds($0) })
        #expect(exponential.wait(beforeRetry: .max, using: random) == .seconds(1))
        #expect(RetryBackoff.none.wait(beforeRetry: 3, using: random) == .zero)
        #expect(
            RetryBackoff.constant(.seconds(2)).wait(beforeRetry: 3, using: random) == .seconds(2))
    }

    @Test(arguments: [1e30, .greatestFiniteMagnitude, .infinity])
    func overflowingBackoffIsCappedAtItsLimit(factor: Double) {
        let random = RandomSource.system
        let steep = RetryBackoff.exponential(
            from: .milliseconds(100), factor: factor, max: .seconds(1), jitter: .none)
        #expect(
            (1...3).map { steep.wait(beforeRetry: $0, using: random) } == [
                .milliseconds(100), .seconds(1), .seconds(1),
            ])
        let negative = RetryBackoff.exponential(from: .seconds(-1), factor: factor)
        #expect(negative.wait(beforeRetry: .max, using: random) == .zero)
    }

    @Test func jitterIsEvenlySpreadAndReproducible() {
        let backoff = RetryBackoff.exponential(from: .seconds(1), factor: 1)
        let (one, other) = (RandomSource(seed: 7), RandomSource(seed: 7))
        let waits = (1...1_000).map { backoff.wait(beforeRetry: $0, using: one) }
        #expect(waits == (1...1_000).map { backoff.wait(beforeRetry: $0, using: other) })
        #expect(waits.allSatisfy { .zero <= $0 && $0 < .seconds(1) })
        let mean = waits.reduce(.zero, +) / 1_000
        #expect(mean > .milliseconds(450) && mean < .milliseconds(550))
    }
}
