import Operations
import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Testing

/// Tests of Swift Testing that a scheduler runs with many schedules.
@Suite(.timeLimit(.minutes(5)))
struct ScheduledTestTests {
    /// An account that a mistake in its `withdraw` overdraws.
    private final class Account: Sendable {
        private let state = Locked(100)
        var balance: Int { state.withLock { $0 } }

        func withdraw(_ amount: Int, in queue: OperationQueue) async throws {
            try await queue.add("withdraw") {
                guard self.balance >= amount else { return }
                await Task.yield()
                self.state.withLock { $0 -= amount }
            }.value
        }
    }

    @Sendable private func withdrawTwice(_ scheduler: TestScheduler) async throws -> Int {
        let (queue, account) = (scheduler.makeQueue(), Account())
        async let first: Void = account.withdraw(80, in: queue)
        async let second: Void = account.withdraw(80, in: queue)
        _ = try await (first, second)
        return account.balance
    }

    private func isTold(_ issue: Issue, _ texts: [String]) -> Bool {
        let comment = issue.comments.map(\.rawValue).joined(separator: "\n")
        return texts.allSatisfy { comment.contains($0) }
    }

    @Test func aTestThatHoldsRecordsNothing() async {
        let runs = Locked(0)
        await TestScheduler.test(schedules: 20) { scheduler in
            runs.withLock { $0 += 1 }
            let queue = scheduler.makeQueue()
            let sum = try await queue.add { 1 }.value + queue.add { 2 }.value
            #expect(sum == 3)
        }
        #expect((1...20).contains(runs.withLock { $0 }))
    }

    /// One issue, at the place of the first one, with the seed, the steps and the way to repeat it.
    @Test func aFailureIsOneIssueWithTheShortestSteps() async {
        let line = #line + 4
        await withKnownIssue {
            await TestScheduler.test(schedules: 200, seed: 17) { scheduler in
                let balance = try await withdrawTwice(scheduler)
                #expect(balance >= 0)
            }
        } matching: { issue in
            isTold(
                issue,
                ["(seed 17) fails", "balance", "start 'withdraw'", "To repeat it", "replaying"]
            ) && issue.sourceLocation?.line == line
        }
    }

    @Test func aFailureIsRepeatedByItsSchedule() async throws {
        let found = #expect(throws: ExplorationFailure.self) {
            try TestScheduler.explore(schedules: 200, seed: 17) { scheduler in
                let balance = try scheduler.run { try await withdrawTwice(scheduler) }
                try scheduler.check(balance >= 0)
            }
        }
        let schedule = try #require(found?.schedule)
        await withKnownIssue {
            await TestScheduler.test(replaying: schedule) { scheduler in
                let balance = try await withdrawTwice(scheduler)
                #expect(balance >= 0)
            }
        }
    }

    @Test func anErrorIsAFailure() async {
        await withKnownIssue {
            await TestScheduler.test(schedules: 5) { scheduler in
                _ = try await scheduler.makeQueue().add { () -> Int in throw NoConnection() }.value
            }
        } matching: { issue in
            isTold(issue, ["no connection", "Schedule 1 of 5"])
        }
    }

    @Test func aTestThatIsStuckIsAFailure() async {
        await withKnownIssue {
            await TestScheduler.test(schedules: 5) { _ in
                let gate = TestGate()
                await gate.wait()
            }
        } matching: { issue in
            isTold(issue, ["'test' is executing"])
        }
    }

    @Test func aKnownIssueInTheBodyIsNoFailure() async {
        await TestScheduler.test(schedules: 5) { _ in
            withKnownIssue { Issue.record("known") }
        }
    }
}
