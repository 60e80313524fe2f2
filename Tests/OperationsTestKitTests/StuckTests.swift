import Operations
import OperationsTestKit
import OperationsTestSupport
import Testing

/// What a scheduler reports about operations that cannot proceed.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct StuckTests {
    private let scheduler = TestScheduler(seed: 1)

    private func stuck(_ scheduler: TestScheduler) throws -> [TestSchedulerError.StuckOperation] {
        let error = try #require(throws: TestSchedulerError.self) { try scheduler.run() }
        guard case .stuck(let operations) = error else {
            Issue.record("\(error)")
            return []
        }
        return operations
    }

    @Test func operationsAwaitingEachOtherAreReported() throws {
        let queue = scheduler.makeQueue(name: "office")
        let other = TestRecorder<Operation>()
        let first = queue.add("first") { await other.wait(for: 1)[0].waitUntilFinished() }
        let second = queue.add("second") { await first.waitUntilFinished() }
        other.record(second)
        let operations = try stuck(scheduler)
        #expect(operations.map(\.name) == ["'first'", "'second'"])
        #expect(operations[0].explanation.contains("'first' is executing, and waits for 'second'"))
        #expect(operations[0].explanation.contains("'first' → 'second' → 'first' is a cycle"))
    }

    @Test func queuesAwaitingEachOtherAreReported() throws {
        let (a, b) = (scheduler.makeQueue(width: 1), scheduler.makeQueue(width: 1))
        a.add("a") { await b.add("a on b") {}.waitUntilFinished() }
        b.add("b") { await a.add("b on a") {}.waitUntilFinished() }
        let operations = try stuck(scheduler)
        #expect(operations.map(\.name) == ["'a'", "'b on a'", "'b'", "'a on b'"])
        #expect(operations[1].explanation.contains("the only slot of queue 'queue 1' is taken by"))
    }

    @Test func dependentOfUnaddedOperationIsReported() throws {
        let forgotten = BlockOperation {}
        forgotten.name = "forgotten"
        let dependent = BlockOperation {}
        dependent.addDependency(forgotten)
        scheduler.makeQueue().addOperation(dependent)
        let operations = try stuck(scheduler)
        #expect(operations.map(\.name) == ["operation 1"])
        #expect(operations[0].explanation.contains("waits for 'forgotten' (in no queue"))
        #expect(throws: Never.self) { try scheduler.runUntilIdle() }
        forgotten.start()
        try scheduler.run()
    }

    @Test func suspendedOperationsAreNotStuck() throws {
        let suspended = scheduler.makeQueue()
        suspended.isSuspended = true
        let first = suspended.add("first") { 1 }
        let second = scheduler.makeQueue().add("second", after: first) { $0 + 1 }
        let widthless = scheduler.makeQueue(width: 0)
        widthless.addOperation {}
        try scheduler.run()
        #expect(!second.isFinished)
        suspended.isSuspended = false
        widthless.maxConcurrentOperationCount = 1
        try scheduler.run()
        #expect(try second.result == 2)
        #expect(widthless.operationCount == 0)
    }

    @Test func blockingWaitTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let scheduler = TestScheduler(replaying: "")
            let queue = scheduler.makeQueue()
            let inner = BlockOperation {}
            inner.name = "inner"
            let outer = BlockOperation { inner.waitUntilFinished() }
            outer.name = "outer"
            queue.addOperation(outer)
            queue.addOperation(inner)
            try scheduler.run()
        }
        expect(
            result,
            says: "'outer' blocks the thread of its test scheduler to wait for 'inner', but that "
                + "thread runs everything else")
    }

    @Test func blockingWaitForQueueOrGateTraps() async {
        let queueWait = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            let scheduler = TestScheduler(replaying: "")
            let (queue, other) = (scheduler.makeQueue(), scheduler.makeQueue(name: "other"))
            other.isSuspended = true
            other.addOperation {}
            queue.addOperation { other.waitUntilAllOperationsAreFinished() }
            try scheduler.run()
        }
        expect(queueWait, says: "to wait for all operations of queue 'other', but that thread")
        let gateWait = await #expect(
            processExitsWith: .failure, observing: [\.standardErrorContent]
        ) {
            let scheduler = TestScheduler(replaying: "")
            let gate = TestGate()
            scheduler.makeQueue().addOperation { gate.wait() }
            try scheduler.run()
        }
        expect(gateWait, says: "blocks the thread of its test scheduler")
    }

    @Test func runningSchedulerInsideItselfTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let scheduler = TestScheduler(replaying: "")
            scheduler.makeQueue().addOperation { scheduler.runNextStep() }
            try scheduler.run()
        }
        expect(result, says: "a test scheduler is run while it is running")
    }

    @Test func malformedScheduleTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            _ = TestScheduler(replaying: "seventeen")
        }
        expect(result, says: "'seventeen' is no schedule")
    }

    @Test func queueOfSchedulerRefusesUnderlyingQueue() {
        let error = #expect(throws: OperationMisuse.self) {
            try scheduler.makeQueue().setUnderlyingQueueChecked(nil)
        }
        #expect(error?.kind == .controlledByTestScheduler)
    }
}
