import Dispatch
import Operations
import OperationsTestKit
import OperationsTestSupport
import Testing

/// The same seed gives the same order, and different seeds give different orders.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct OrderTests {
    private actor Ledger {
        var total = 0
        func add(_ number: Int) { total += number }
    }

    /// Runs a program with every kind of scheduling choice on two queues, and returns its events.
    private func run(_ scheduler: TestScheduler) throws -> [String] {
        let events = TestRecorder<String>()
        let narrow = scheduler.makeQueue(name: "narrow", width: 2)
        let wide = scheduler.makeQueue(name: "wide")
        let ledger = Ledger()
        for number in 0..<3 {
            let first = narrow.add("piecewise \(number)") {
                for piece in 0..<2 {
                    events.record("piece \(piece) of \(number)")
                    await Task.yield()
                }
                await ledger.add(number)
            }
            first.completionBlock = { events.record("completion \(number)") }
            wide.add("sleeper \(number)", after: first) { _ in
                try? await scheduler.clock.sleep(for: .seconds(1))
                await withTaskGroup { group in
                    for child in 0..<2 {
                        group.addTask { events.record("child \(child) of \(number)") }
                    }
                }
            }
            wide.addOperation { events.record("block \(number)") }
            let several = BlockOperation { events.record("first of \(number)") }
            several.addExecutionBlock { events.record("second of \(number)") }
            wide.addOperation(several)
        }
        try scheduler.run()
        #expect(narrow.operationCount == 0 && wide.operationCount == 0)
        return events.events + scheduler.names
    }

    @Test func sameSeedGivesSameOrderAThousandTimes() throws {
        let first = try run(TestScheduler(seed: 5))
        for _ in 0..<1_000 {
            let again = try run(TestScheduler(seed: 5))
            guard again == first else {
                Issue.record("\(again) differs from \(first)")
                return
            }
        }
    }

    @Test func sameSeedGivesSameOrderInsideAndOutsideTasks() async throws {
        let here = try run(TestScheduler(seed: 9))
        let elsewhere = try await Task.detached { try run(TestScheduler(seed: 9)) }.value
        let main = try await MainActor.run { try run(TestScheduler(seed: 9)) }
        let thread = await withCheckedContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(returning: Result { try run(TestScheduler(seed: 9)) })
            }
        }
        #expect(here == elsewhere)
        #expect(here == main)
        #expect(try here == thread.get())
    }

    @Test func differentSeedsGiveDifferentOrders() throws {
        var orders: Set<[String]> = []
        for seed in 0..<100 { orders.insert(try run(TestScheduler(seed: UInt64(seed)))) }
        #expect(orders.count == 100)
    }

    @Test func scheduleCanBeReplayed() throws {
        for seed in 0..<20 {
            let scheduler = TestScheduler(seed: UInt64(seed))
            let first = try run(scheduler)
            let again = TestScheduler(replaying: scheduler.schedule)
            #expect(try run(again) == first)
            #expect(again.schedule == scheduler.schedule)
        }
    }

    @Test func scheduleOfSeveralRunsCanBeReplayed() throws {
        func runTwice(_ scheduler: TestScheduler) throws -> [String] {
            try run(scheduler) + run(scheduler)
        }
        for seed in 0..<20 {
            let scheduler = TestScheduler(seed: UInt64(seed))
            let first = try runTwice(scheduler)
            #expect(scheduler.schedule.contains("/2"))
            let again = TestScheduler(replaying: scheduler.schedule)
            #expect(try runTwice(again) == first)
            #expect(again.schedule == scheduler.schedule)
        }
    }

    @Test func scheduleWhoseDecisionIsNeverReachedDoesNotFit() throws {
        let scheduler = TestScheduler(replaying: "9:9")
        scheduler.makeQueue(width: 1).add("x") {}
        let error = #expect(throws: TestSchedulerError.self) { try scheduler.run() }
        guard case .scheduleDoesNotFit(step: 2, let last, decision: 9, option: 9, of: 0)? = error
        else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(last?.description == "start 'x'")
        #expect(
            error?.description == """
                The schedule does not fit: decision 9 of the schedule was never reached: nothing was \
                left to do after step 1, which was start 'x'. It was recorded with another program or \
                test: explore again, or remove the schedule.
                """)
    }

    @Test func scheduleWhoseOptionDoesNotExistEndsThere() throws {
        let scheduler = TestScheduler(replaying: "2:7")
        let queue = scheduler.makeQueue()
        for name in ["a", "b", "c"] { queue.add(.name(name)) {} }
        let error = #expect(throws: TestSchedulerError.self) { try scheduler.run() }
        guard case .scheduleDoesNotFit(_, _, decision: 2, option: 7, of: let count)? = error,
            (2...6).contains(count)
        else {
            Issue.record("\(String(describing: error))")
            return
        }
        let steps = scheduler.steps.count
        #expect(steps < 3 && !scheduler.runNextStep() && scheduler.steps.count == steps)
        #expect(throws: TestSchedulerError.self) { try scheduler.run() }
    }

    @Test func choiceOfALaterRunDoesNotFailTheFirst() throws {
        let scheduler = TestScheduler(replaying: "99:2/2")
        let queue = scheduler.makeQueue()
        queue.add("a") {}
        try scheduler.run()
        queue.add("b") {}
        #expect(throws: TestSchedulerError.self) { try scheduler.run() }
    }

    @Test func emptyScheduleSwitchesAsLittleAsPossible() throws {
        let scheduler = TestScheduler(replaying: "")
        let queue = scheduler.makeQueue()
        for name in ["a", "b"] {
            queue.add(.name(name)) {
                await Task.yield()
                await Task.yield()
            }
        }
        try scheduler.run()
        #expect(
            scheduler.names == [
                "start 'a'", "resume 'a'", "resume 'a'", "start 'b'", "resume 'b'", "resume 'b'",
            ])
    }

    @Test func unnamedOperationsAreNumbered() throws {
        let scheduler = TestScheduler(replaying: "")
        let queue = scheduler.makeQueue()
        queue.addOperation {}
        queue.addBarrierBlock {}
        try scheduler.run()
        let other = scheduler.makeQueue(name: "other")
        other.addOperation {}
        try scheduler.run()
        #expect(
            scheduler.names == [
                "start operation 1", "start barrier 2", "start operation 1 of 'other'",
            ])
    }

    @Test func qualityOfServiceChangesNothing() throws {
        let scheduler = TestScheduler(replaying: "")
        let queue = scheduler.makeQueue()
        queue.qualityOfService = .userInitiated
        let first = queue.add("a", .qualityOfService(.utility)) { await Task.yield() }
        queue.add("b", .qualityOfService(.background)) { await first.waitUntilFinished() }
        try scheduler.run()
        #expect(
            scheduler.names == ["start 'a'", "resume 'a'", "start 'b'"]
                || scheduler.names == ["start 'b'", "start 'a'", "resume 'a'", "resume 'b'"])
    }

    @Test func runOneMakesSingleStep() throws {
        let scheduler = TestScheduler(replaying: "")
        let events = TestRecorder<Int>()
        let queue = scheduler.makeQueue(width: 1)
        queue.add {
            events.record(1)
            await Task.yield()
            events.record(2)
        }
        queue.addOperation { events.record(3) }
        #expect(events.events == [])
        for count in 1...3 {
            #expect(scheduler.runNextStep())
            #expect(events.events == Array(1...count))
        }
        #expect(!scheduler.runNextStep())
    }

    @Test func concurrentOperationsStartInAnyOrder() throws {
        var orders: Set<[Int]> = []
        let exploration = try TestScheduler.explore { scheduler in
            let events = TestRecorder<Int>()
            let queue = scheduler.makeQueue()
            for number in 1...3 { queue.addOperation { events.record(number) } }
            try scheduler.run()
            orders.insert(events.events)
        }
        #expect(exploration.isComplete)
        #expect(orders.count == 6)
    }

    @Test func bodiesInheritTaskLocalValues() throws {
        for hasPriority in [true, false] {
            let scheduler = TestScheduler(seed: 1)
            let queue = scheduler.makeQueue()
            let operation = Local.$value.withValue(7) {
                TypedOperation {
                    let before = Local.value
                    await Task.yield()
                    return [before, Local.value]
                }
            }
            if hasPriority { operation.queuePriority = .high }
            queue.addOperation(operation)
            try scheduler.run()
            let isInTask = withUnsafeCurrentTask { $0 != nil }
            #expect(try operation.result == (isInTask ? [7, 7] : [0, 0]))
        }
    }

    @Test func operationCreatedBeforeSchedulerRuns() async {
        await #expect(processExitsWith: .success) {
            let steps = TestRecorder<Int>()
            let operation = TypedOperation {
                steps.record(1)
                await Task.yield()
                steps.record(2)
            }
            operation.name = "early"
            let scheduler = TestScheduler(replaying: "")
            scheduler.makeQueue().addOperation(operation)
            try scheduler.run()
            #expect(steps.events == [1, 2])
            #expect(scheduler.names == ["start 'early'", "resume 'early'"])
        }
    }

    @Test func bodiesKnowTheirQueue() throws {
        let scheduler = TestScheduler(seed: 1)
        let queue = scheduler.makeQueue()
        let plain = queue.add { OperationQueue.current?.name }
        let piecewise = queue.add {
            await Task.yield()
            return OperationQueue.current?.name
        }
        try scheduler.run()
        #expect(try plain.result == "queue 1" && piecewise.result == "queue 1")
        #expect(OperationQueue.current !== queue)
    }

    @Test func taskMayAwaitOperationDrivenElsewhere() async throws {
        let scheduler = TestScheduler(seed: 3)
        let queue = scheduler.makeQueue()
        let operation = queue.add {
            try await scheduler.clock.sleep(for: .seconds(60))
            return 42
        }
        async let value = operation.value
        async let end: Void = queue.waitUntilAllOperationsAreFinished()
        try await Task.detached { try scheduler.run() }.value
        #expect(try await value == 42)
        await end
    }
}

private enum Local {
    @TaskLocal static var value = 0
}
