import Operations
import OperationsTestKit
import OperationsTestSupport
import Testing

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct ExploreTests {
    /// Two people read a balance, suspend, and then withdraw from it.
    private func race(_ scheduler: TestScheduler) throws {
        let account = Account(balance: 100)
        let queue = scheduler.makeQueue()
        for person in 1...2 {
            queue.add("withdraw \(person)") {
                if account.balance >= 80 {
                    await Task.yield()
                    account.withdraw(80)
                }
            }
        }
        try scheduler.run()
        try scheduler.check(account.balance >= 0, "the balance is \(account.balance)")
    }

    @Test func raceIsFoundAndShrunk() throws {
        let failure = try #require(throws: ExplorationFailure.self) {
            try TestScheduler.explore(schedules: 1_000, seed: 17, race)
        }
        #expect(
            failure.names == [
                "start 'withdraw 1'", "start 'withdraw 2'", "resume 'withdraw 2'",
                "resume 'withdraw 1'",
            ])
        #expect(failure.schedule == "2:2")
        #expect(failure.seed == 17)
        #expect((failure.error as? TestScheduler.CheckFailure)?.comment == "the balance is -60")
        let text = failure.description
        #expect(text.contains("(seed 17) fails: OperationsTestKitTests/ExploreTests.swift:"))
        #expect(text.contains("2. start 'withdraw 2'"))
        #expect(text.contains("To repeat it: TestScheduler(replaying: \"2:2\")"))
    }

    @Test func failureCanBeReplayed() throws {
        #expect(throws: TestScheduler.CheckFailure.self) {
            try race(TestScheduler(replaying: "2:2"))
        }
        try race(TestScheduler(replaying: ""))
    }

    @Test func longFailureFoundByRandomSearchIsShrunk() throws {
        // The failure needs more switches than the systematic half of the search makes.
        let failure = try #require(throws: ExplorationFailure.self) {
            try TestScheduler.explore(schedules: 4_000, seed: 3) { scheduler in
                let order = TestRecorder<String>()
                let queue = scheduler.makeQueue()
                for name in ["a", "b", "other"] {
                    queue.add(.name(name)) {
                        for _ in 0..<5 {
                            order.record(name)
                            await Task.yield()
                        }
                    }
                }
                try scheduler.run()
                let both = order.events.filter { $0 != "other" }
                try scheduler.check(zip(both, both.dropFirst()).contains { $0 == $1 })
            }
        }
        #expect(failure.number > 2_000)
        // "a" and "b" alternate, and "other" comes at the end without a choice.
        let choices = failure.schedule.split(separator: " ")
        #expect(choices.count <= 9, "\(failure)")
        #expect(failure.names.suffix(5).allSatisfy { $0.hasSuffix("'other'") }, "\(failure)")
    }

    @Test func correctProgramPassesAllSchedules() throws {
        var orders: Set<[String]> = []
        let exploration = try TestScheduler.explore(schedules: 1_000, seed: 1) { scheduler in
            let queue = scheduler.makeQueue()
            for name in ["a", "b"] { queue.add(.name(name)) { await Task.yield() } }
            try scheduler.run()
            orders.insert(scheduler.names.filter { !$0.hasPrefix("claim") })
            try scheduler.check(queue.operationCount == 0)
        }
        #expect(exploration.isComplete)
        // The orders of two starts and two ends, with each end after its start.
        #expect(orders.count == 6)
    }

    @Test func anyNumberOfSchedulesIsAccepted() async {
        await #expect(processExitsWith: .success) {
            let exploration = try TestScheduler.explore(schedules: .max) { scheduler in
                let queue = scheduler.makeQueue()
                for name in ["a", "b"] { queue.add(.name(name)) { await Task.yield() } }
                try scheduler.run()
            }
            #expect(exploration.isComplete)
        }
    }

    @Test func noScheduleRunsTwice() throws {
        var seen: Set<String> = []
        let exploration = try TestScheduler.explore(schedules: 2_000, seed: 1) { scheduler in
            let queue = scheduler.makeQueue()
            for name in ["a", "b", "c"] { queue.add(.name(name)) { await Task.yield() } }
            try scheduler.run()
            try scheduler.check(seen.insert(scheduler.schedule).inserted, scheduler.schedule)
        }
        #expect(exploration.isComplete)
        #expect(exploration.scheduleCount == seen.count)
    }

    @Test func lostWakeUpIsFound() throws {
        let failure = try #require(throws: ExplorationFailure.self) {
            try TestScheduler.explore { scheduler in
                let gate = TestGate()
                let waiting = TestRecorder<Bool>()
                let queue = scheduler.makeQueue()
                queue.add("wait") {
                    await Task.yield()
                    waiting.record(true)
                    await gate.wait()
                }
                queue.add("wake") { if !waiting.events.isEmpty { gate.open() } }
                try scheduler.run()
            }
        }
        guard case .stuck(let operations)? = failure.error as? TestSchedulerError else {
            Issue.record("\(failure)")
            return
        }
        #expect(operations.map(\.name) == ["'wait'"])
        #expect(failure.names == ["start 'wait'", "start 'wake'", "resume 'wait'"])
        #expect(failure.description.contains("'wait' is executing on queue 'queue 1'"))
    }

    @Test func bodyThatRunsNothingFails() throws {
        let failure = try #require(throws: ExplorationFailure.self) {
            try TestScheduler.explore { scheduler in scheduler.makeQueue().addOperation {} }
        }
        guard case .schedulerNotRun(1)? = failure.error as? TestSchedulerError else {
            Issue.record("\(failure)")
            return
        }
    }

    @Test func bodyWithSuspendedOperationsPasses() throws {
        try TestScheduler.explore { scheduler in
            let queue = scheduler.makeQueue()
            queue.isSuspended = true
            queue.addOperation {}
            try scheduler.run()
            #expect(queue.operationCount == 1)
        }
    }

    @Test func remainingOperationsAreEnded() throws {
        final class Token: Sendable {}
        weak var freed: Token?
        try TestScheduler.explore(schedules: 1) { scheduler in
            let queue = scheduler.makeQueue()
            let token = Token()
            freed = token
            let gate = TestGate()
            queue.add {
                await gate.wait()
                withExtendedLifetime(token) {}
            }
            queue.isSuspended = false
            try scheduler.runUntilIdle()
        }
        #expect(freed == nil)
    }

    @Test func unrepeatableFailureIsReportedAsSuch() throws {
        var count = 0
        let failure = try #require(throws: ExplorationFailure.self) {
            try TestScheduler.explore { scheduler in
                count += 1
                try scheduler.check(count != 1)
            }
        }
        #expect(!failure.isRepeatable)
        #expect(failure.description.contains("does not do the same each time"))
    }

    @Test func explorationOfZeroSchedulesTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            try TestScheduler.explore(schedules: 0) { _ in }
        }
        expect(result, says: "an exploration of 0 schedules finds nothing: give it 1 or more")
    }

    @Test func checkFailuresNameTheirLocation() {
        let scheduler = TestScheduler(seed: 1)
        let failure = #expect(throws: TestScheduler.CheckFailure.self) {
            try scheduler.check(false, "wrong")
        }
        #expect(failure?.file == "OperationsTestKitTests/ExploreTests.swift")
        #expect(failure?.description.hasSuffix(": check failed: wrong") == true)
        #expect(throws: Never.self) { try scheduler.check(true) }
    }
}
