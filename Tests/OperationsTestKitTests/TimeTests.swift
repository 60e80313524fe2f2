import Operations
import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct TimeTests {
    private let scheduler = TestScheduler(seed: 1)

    @Test func dayOfVirtualTimePassesAtOnce() throws {
        let queue = scheduler.makeQueue()
        let clock = scheduler.clock
        let day = queue.add {
            let start = clock.now
            try await clock.sleep(for: .seconds(86_400))
            return start.duration(to: clock.now)
        }
        let real = ContinuousClock()
        let time = try real.measure { try scheduler.run() }
        #expect(try day.result == .seconds(86_400))
        #expect(time < .seconds(60))
    }

    @Test func retriesWaitEquallyLongInEveryRun() throws {
        let waits = try (0..<3).map { _ in
            let scheduler = TestScheduler(seed: 1)
            let start = scheduler.clock.now
            let flaky = scheduler.makeQueue().add(.retry(1)) {
                if Operation.current?.attempt == 1 { throw CancellationError() }
                return start.duration(to: scheduler.clock.now)
            }
            try scheduler.run()
            return try flaky.result
        }
        #expect(waits[0] > .zero && Set(waits).count == 1)
    }

    @Test func sleepersWakeInOrderOfDeadlines() throws {
        try TestScheduler.explore(schedules: 200) { scheduler in
            let events = TestRecorder<Int>()
            let queue = scheduler.makeQueue()
            for seconds in [3, 1, 2] {
                queue.add {
                    try await scheduler.clock.sleep(for: .seconds(seconds))
                    events.record(seconds)
                }
            }
            try scheduler.run()
            try scheduler.check(events.events == [1, 2, 3])
        }
    }

    @Test func timersDueAtSameTimeFireInAnyOrder() throws {
        var orders: Set<[Int]> = []
        try TestScheduler.explore { scheduler in
            let events = TestRecorder<Int>()
            let queue = scheduler.makeQueue(width: 2)
            for number in 1...2 {
                queue.add {
                    try await scheduler.clock.sleep(for: .seconds(1))
                    events.record(number)
                }
            }
            try scheduler.run()
            orders.insert(events.events)
        }
        #expect(orders == [[1, 2], [2, 1]])
    }

    @Test func timeAdvancesOnlyAsFarAsRequested() throws {
        let events = TestRecorder<Int>()
        let queue = scheduler.makeQueue()
        let clock = scheduler.clock
        for seconds in [1, 2, 3] {
            queue.add {
                try await clock.sleep(for: .seconds(seconds))
                events.record(seconds)
            }
        }
        try scheduler.runUntilIdle()
        #expect(events.events == [])
        #expect(clock.now.offset == .zero)
        try scheduler.advance(by: .seconds(2))
        #expect(events.events == [1, 2])
        #expect(clock.now.offset == .seconds(2))
        try scheduler.advance(by: .milliseconds(500))
        #expect(events.events == [1, 2])
        #expect(clock.now.offset == .milliseconds(2_500))
        try scheduler.run()
        #expect(events.events == [1, 2, 3])
        #expect(clock.now.offset == .seconds(3))
    }

    @Test func cancelledOperationStopsSleeping() throws {
        let queue = scheduler.makeQueue()
        let clock = scheduler.clock
        let sleeper = queue.add { try await clock.sleep(for: .seconds(100)) }
        let canceller = queue.add {
            try await clock.sleep(for: .seconds(1))
            sleeper.cancel()
        }
        try scheduler.run()
        #expect(canceller.isFinished && sleeper.isCancelled)
        #expect(clock.now.offset == .seconds(1))
    }

    @Test func queueUsesTimeOfItsScheduler() throws {
        let queue = scheduler.makeQueue()
        let events = TestRecorder<String>()
        let time = queue.time
        let clock = scheduler.clock
        _ = time.schedule(after: .seconds(2), named: "late") { events.record("late") }
        _ = time.schedule(after: .seconds(1)) { events.record("early") }
        let never = time.schedule(after: .seconds(1)) { events.record("never") }
        _ = time.schedule(after: .zero) { events.record("now") }
        never.cancel()
        queue.add {
            try await clock.sleep(for: .milliseconds(1_500))
            events.record("between")
        }
        try scheduler.run()
        #expect(events.events == ["now", "early", "between", "late"])
        #expect(time.now() == .seconds(2))
        #expect(scheduler.names.contains("timer late"))
    }

    @Test func anyDurationIsAccepted() async {
        await #expect(processExitsWith: .success) {
            let scheduler = TestScheduler(seed: 1)
            let queue = scheduler.makeQueue()
            let clock = scheduler.clock
            try scheduler.advance(by: .seconds(1))
            for time in [Duration(attoseconds: .max), .seconds(Int64.max)] {
                #expect(clock.now.advanced(by: time) > clock.now)
                let gate = TestGate()
                let waiting = queue.add { await gate.wait() }
                let waiter = queue.add { await waiting.finished(within: time) }
                try scheduler.advance(by: .seconds(1))
                gate.open()
                try scheduler.run()
                #expect(try waiter.result)
                try scheduler.advance(by: time)
            }
            #expect(clock.now.offset > .seconds(1_000_000_000))
        }
    }

    @Test func tasksOutsideSchedulerMaySleep() async throws {
        let clock = scheduler.clock
        let ends = Tally()
        let sleeper = Task {
            defer { ends.increment() }
            try await clock.sleep(for: .seconds(5))
            return clock.now.offset
        }
        // The task schedules its timer at a time that nothing tells.
        while ends.value == 0 {
            try scheduler.advance(by: .seconds(1))
            await Task.yield()
        }
        #expect(try await sleeper.value >= .seconds(5))
    }

    @Test func endlessOperationIsReported() throws {
        let scheduler = TestScheduler(seed: 1, stepLimit: 100)
        let queue = scheduler.makeQueue()
        let clock = scheduler.clock
        let beat = queue.add("beat") {
            while !Task.isCancelled { try await clock.sleep(for: .seconds(1)) }
        }
        let error = #expect(throws: TestSchedulerError.self) { try scheduler.run() }
        guard case .stepLimitReached(100, let last) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(last.map(\.description).contains("timer 'beat'"))
        beat.cancel()
        try scheduler.run()
    }
}
