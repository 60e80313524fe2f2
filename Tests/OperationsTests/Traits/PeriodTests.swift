import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct PeriodTests {
    @Test func periodicOperationRunsAtAFixedRateAndSkipsMissedRuns() async {
        let clock = ManualClock()
        let queue = OperationQueue(clock, width: 1)
        let moments = TestRecorder<Duration>()
        let beat = queue.add("beat", .every(.seconds(10))) {
            moments.record(clock.now.offset)
            // The third run takes longer than two periods.
            if moments.events.count == 3 { clock.advance(by: .seconds(25)) }
        }
        await clock.sleepers(1)
        #expect(beat.explain().description == "'beat' waits 10.0 s for its next run.")
        #expect(!beat.isExecuting && !beat.isFinished && queue.operations == [beat])
        // No slot is held between two runs.
        await queue.add {}.waitUntilFinished()
        // This run is 3 s late, which does not shift the next one.
        clock.advance(by: .seconds(13))
        await clock.advance(by: .seconds(7), whenSleepers: 1)
        await clock.advance(by: .seconds(5), whenSleepers: 1)
        await clock.sleepers(1)
        #expect(moments.events == [0, 13, 20, 50].map { .seconds($0) })
        beat.cancel()
        await queue.drain()
        #expect(beat.isCancelled && beat.isFinished && moments.events.count == 4)
        #expect(await clock.becomesQuiet())
    }

    @Test func errorEndsAPeriodicOperation() async {
        let clock = ManualClock()
        let queue = OperationQueue(clock)
        let runs = Tally()
        let beat = queue.add(.every(.seconds(1))) { () async throws in
            if runs.increment() == 3 { throw NoConnection() }
        }
        for _ in 0..<2 { await clock.advance(by: .seconds(1), whenSleepers: 1) }
        await #expect(throws: NoConnection.self) { try await beat.value }
        #expect(runs.value == 3)
        await queue.drain()
    }

    @Test func eachRunMayBeRetriedAndTheFirstRunDelayed() async {
        let clock = ManualClock()
        let queue = OperationQueue(clock)
        let seen = TestRecorder<String>()
        let beat = queue.add(
            .every(.seconds(10)), .delay(.seconds(1)), .retry(1, backoff: .constant(.seconds(2)))
        ) {
            let attempt = Operation.current?.attempt ?? 0
            seen.record("\(clock.now.offset.components.seconds): \(attempt)")
            if attempt == 1 { throw NoConnection() }
        }
        for step in [1, 2, 8, 2] {
            await clock.advance(by: .seconds(step), whenSleepers: 1)
        }
        await clock.sleepers(1)
        beat.cancel()
        await queue.drain()
        #expect(seen.events == ["1: 1", "3: 2", "11: 1", "13: 2"])
    }

    @Test func nextTickIsAtMostOnePeriodAway() {
        let first = Duration.milliseconds(7)
        for period in [Duration.nanoseconds(3), .microseconds(333), .seconds(1), .seconds(86_400)] {
            for now in [Duration.zero, first, .seconds(5), .seconds(1_000_000_000)] {
                let tick = OperationOptions.tick(after: now, from: first, every: period)
                #expect(tick > now || tick == first)
                #expect(tick - now <= max(period, first))
            }
        }
    }
}
