import Operations
import OperationsTestKit
import OperationsTestSupport
import Testing

/// Async functions that a scheduler runs, as tests of async methods are written first.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct BodyTests {
    private struct NoResult: Error {}

    private final class Search: Sendable {
        let queue: OperationQueue

        init(queue: OperationQueue) { self.queue = queue }

        func results(for text: String) async throws -> String {
            try await queue.add("search \(text)", .debounced(by: "search", .milliseconds(300))) {
                "\(text)!"
            }.value
        }
    }

    private let scheduler = TestScheduler(seed: 1)

    @Test func theResultOfAnAsyncMethodIsReturned() async throws {
        let search = Search(queue: scheduler.makeQueue())
        let result = try await scheduler.run { try await search.results(for: "a") }
        #expect(result == "a!" && scheduler.clock.now.offset == .milliseconds(300))
    }

    @Test func aTestWithoutAwaitRunsOneToo() throws {
        let search = Search(queue: scheduler.makeQueue())
        #expect(try scheduler.run { try await search.results(for: "a") } == "a!")
    }

    @Test func theErrorOfTheFunctionIsThrown() async throws {
        await #expect(throws: NoResult.self) {
            try await scheduler.run { () async throws -> Int in throw NoResult() }
        }
    }

    @Test func severalCallsFollowEachOtherInTime() async throws {
        let clock = scheduler.clock
        for second in 1...3 {
            let now = try await scheduler.run {
                try await clock.sleep(for: .seconds(1))
                return clock.now.offset
            }
            #expect(now == .seconds(second))
        }
    }

    @Test func callsInsideOfTheFunctionRunBesideEachOther() async throws {
        let queue = scheduler.makeQueue()
        let clock = scheduler.clock
        let sum = try await scheduler.run {
            let operations = (1...3).map { number in
                queue.add { () async throws -> Int in
                    try await clock.sleep(for: .seconds(number))
                    return number
                }
            }
            var sum = 0
            for operation in operations { sum += try await operation.value }
            return sum
        }
        #expect(sum == 6 && clock.now.offset == .seconds(3))
    }

    @Test func theSameSeedGivesTheSameSteps() async throws {
        func steps(seed: UInt64) async throws -> [String] {
            let scheduler = TestScheduler(seed: seed)
            let queue = scheduler.makeQueue()
            try await scheduler.run {
                let operations = (1...5).map { number in
                    queue.add("\(number)") { await Task.yield() }
                }
                for operation in operations { try await operation.value }
            }
            return scheduler.steps.map(\.description)
        }
        let first = try await steps(seed: 7)
        #expect(try await steps(seed: 7) == first && first.contains("start 'test'"))
    }

    @Test func anExplorationFindsTheOrderThatFails() {
        #expect(throws: ExplorationFailure.self) {
            try TestScheduler.explore(schedules: 100, seed: 1) { scheduler in
                let queue = scheduler.makeQueue()
                let order = TestRecorder<Int>()
                try scheduler.run {
                    let operations = [1, 2].map { number in
                        queue.add("\(number)") { order.record(number) }
                    }
                    for operation in operations { try await operation.value }
                }
                try scheduler.check(order.events == [1, 2])
            }
        }
    }

    @Test func aFunctionThatNothingContinuesIsReported() async throws {
        let gate = TestGate()
        let error = await #expect(throws: TestSchedulerError.self) {
            try await scheduler.run { _ = await gate.wait() }
        }
        #expect("\(try #require(error))".contains("'test' is executing"))
    }

    @Test func aFunctionThatWaitsForASuspendedQueueIsReported() async throws {
        let queue = scheduler.makeQueue()
        queue.isSuspended = true
        let error = await #expect(throws: TestSchedulerError.self) {
            try await scheduler.run { try await queue.add("held") { 1 }.value }
        }
        let text = "\(try #require(error))"
        #expect(text.contains("'test'") && text.contains("suspended"))
    }
}

/// Tasks that wait for a scheduler which nobody runs.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct IdleSchedulerTests {
    private let findings = TestRecorder<String>()

    /// Calls a function while findings about idle schedulers are recorded.
    private func recording(_ body: () async throws -> Void) async throws {
        let old = OperationsDiagnostics.handler
        OperationsDiagnostics.handler = { [findings] finding in
            guard case .idleTestScheduler = finding else { return old(finding) }
            findings.record("\(finding)")
        }
        defer { OperationsDiagnostics.handler = old }
        try await body()
    }

    @Test func aWaitThatNothingEndsIsReportedOnceWithWhatToWrite() async throws {
        try await recording {
            let scheduler = TestScheduler(seed: 1)
            let operation = scheduler.makeQueue(name: "search").add { 1 }
            async let first = operation.value
            async let second = operation.value
            let found = await findings.wait(for: 1)
            #expect(found.first?.contains("queue 'search'") == true)
            #expect(found.first?.contains("try await scheduler.run { try await … }") == true)
            try scheduler.run()
            #expect(try await first + second == 2)
            #expect(findings.events.count == 1)
        }
    }
}
