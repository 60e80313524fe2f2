import Operations
import OperationsTestKit
import OperationsTestSupport
import Testing

/// The guarantees of queues, under every schedule or under many.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct QueueTests {
    @Test(arguments: [true, false]) func prioritiesHold(areAsync: Bool) throws {
        try TestScheduler.explore(schedules: 300) { scheduler in
            let events = TestRecorder<Int>()
            let queue = scheduler.makeQueue(width: 1)
            let priorities: [Operation.QueuePriority] = [
                .low, .veryHigh, .normal, .veryLow, .high, .normal,
            ]
            for (number, priority) in priorities.enumerated() {
                if areAsync {
                    queue.add("\(number)", .priority(priority)) {
                        events.record(number)
                        await Task.yield()
                    }
                } else {
                    queue.add("\(number)", .priority(priority)) { events.record(number) }
                }
            }
            try scheduler.run()
            try scheduler.check(events.events == [1, 4, 2, 5, 0, 3], "\(events.events)")
        }
    }

    @Test func overtakingIsLimitedByWidth() throws {
        let exploration = try TestScheduler.explore(schedules: 3_000) { scheduler in
            let events = TestRecorder<Int>()
            let queue = scheduler.makeQueue(width: 2)
            for number in 0..<5 { queue.addOperation { events.record(number) } }
            try scheduler.run()
            // With two slots, an operation runs at most one position early.
            for (turn, number) in events.events.enumerated() {
                try scheduler.check(number <= turn + 1, "\(events.events)")
            }
        }
        #expect(exploration.isComplete)
    }

    @Test func widthIsNeverExceeded() throws {
        try TestScheduler.explore(schedules: 500) { scheduler in
            let changes = TestRecorder<Int>()
            let queue = scheduler.makeQueue(width: 2)
            for _ in 0..<4 {
                queue.add {
                    changes.record(1)
                    await Task.yield()
                    changes.record(-1)
                }
                queue.addOperation {
                    changes.record(1)
                    changes.record(-1)
                }
            }
            try scheduler.run()
            var (inside, highest) = (0, 0)
            for change in changes.events {
                inside += change
                highest = max(highest, inside)
            }
            try scheduler.check(highest <= 2)
            try scheduler.check(inside == 0)
        }
    }

    @Test func barriersHold() throws {
        try TestScheduler.explore(schedules: 500) { scheduler in
            let events = TestRecorder<String>()
            let queue = scheduler.makeQueue()
            for number in 0..<2 {
                queue.add {
                    await Task.yield()
                    events.record("before \(number)")
                }
            }
            queue.addBarrierBlock { events.record("barrier") }
            for number in 0..<2 { queue.addOperation { events.record("after \(number)") } }
            try scheduler.run()
            let seen = events.events
            try scheduler.check(seen.count == 5 && seen[2] == "barrier", "\(seen)")
            try scheduler.check(Set(seen[..<2]) == ["before 0", "before 1"], "\(seen)")
        }
    }

    @Test func dependenciesHoldAcrossQueues() throws {
        try TestScheduler.explore(schedules: 500) { scheduler in
            let events = TestRecorder<String>()
            let (here, there) = (scheduler.makeQueue(width: 1), scheduler.makeQueue())
            let top = here.add("top") {
                await Task.yield()
                events.record("top")
                return 1
            }
            let left = there.add("left", after: top) { number in
                await Task.yield()
                events.record("left")
                return number + 1
            }
            let right = here.add("right", after: top) { number in
                events.record("right")
                return number + 2
            }
            let bottom = there.add("bottom", after: left, right) { left, right in
                events.record("bottom")
                return left + right
            }
            try scheduler.run()
            try scheduler.check(try bottom.result == 5)
            let seen = events.events
            try scheduler.check(
                seen.first == "top" && seen.last == "bottom" && seen.count == 4, "\(seen)")
        }
    }

    @Test func suspendedQueueStartsNothing() throws {
        try TestScheduler.explore(schedules: 300) { scheduler in
            let events = TestRecorder<Int>()
            let (queue, other) = (scheduler.makeQueue(width: 1), scheduler.makeQueue())
            for number in 0..<3 {
                queue.add {
                    await Task.yield()
                    events.record(number)
                }
            }
            other.addOperation { queue.isSuspended = true }
            try scheduler.run()
            let before = events.events
            let waiting = queue.operations
            try scheduler.check(before.count + waiting.count == 3)
            try scheduler.check(waiting.allSatisfy { !$0.isExecuting })
            queue.isSuspended = false
            try scheduler.run()
            try scheduler.check(events.events == [0, 1, 2], "\(events.events)")
        }
    }

    @Test func nothingStartsAfterCancelAll() throws {
        try TestScheduler.explore(schedules: 500) { scheduler in
            let events = TestRecorder<String>()
            let (queue, other) = (scheduler.makeQueue(), scheduler.makeQueue())
            let first = queue.add("first") {
                await Task.yield()
                events.record("first")
            }
            let second = BlockOperation { events.record("second") }
            second.addDependency(first)
            second.completionBlock = { events.record("completion") }
            queue.addOperation(second)
            other.addOperation {
                queue.cancelAllOperations()
                events.record("cancelled")
            }
            try scheduler.run()
            let seen = events.events
            try scheduler.check(!seen.isBefore("cancelled", "second"), "\(seen)")
            try scheduler.check(seen.contains("completion") && second.isFinished)
            try scheduler.check(queue.operationCount == 0)
        }
    }

    @Test func blocksOfOperationRunInAnyOrder() throws {
        var orders: Set<[Int]> = []
        try TestScheduler.explore(schedules: 500) { scheduler in
            let events = TestRecorder<Int>()
            let operation = BlockOperation()
            for number in 0..<3 { operation.addExecutionBlock { events.record(number) } }
            scheduler.makeQueue().addOperation(operation)
            try scheduler.run()
            try scheduler.check(events.events.sorted() == [0, 1, 2])
            orders.insert(events.events)
        }
        #expect(orders.count == 6)
    }

    @Test func waitersAndObserversAreNotified() throws {
        try TestScheduler.explore(schedules: 200) { scheduler in
            let counts = TestRecorder<Int>()
            let queue = scheduler.makeQueue()
            let token = queue.observe(\.operationCount, options: [.new]) { _, change in
                if let new = change.newValue { counts.record(new) }
            }
            let first = queue.add { await Task.yield() }
            let waiter = queue.add {
                await first.waitUntilFinished()
                return first.isFinished
            }
            try scheduler.run()
            try scheduler.check(try waiter.result)
            try scheduler.check(counts.events == [1, 2, 1, 0], "\(counts.events)")
            token.invalidate()
        }
    }

    @Test func longChainOfBlocksRunsInOrder() throws {
        let scheduler = TestScheduler(seed: 1)
        let queue = scheduler.makeQueue()
        let events = TestRecorder<Int>()
        var last: BlockOperation?
        for number in 0..<1_000 {
            let operation = BlockOperation { events.record(number) }
            if let last { operation.addDependency(last) }
            queue.addOperation(operation)
            last = operation
        }
        try scheduler.run()
        #expect(events.events == Array(0..<1_000))
        #expect(scheduler.steps.count == 1_000)
    }

    @Test func workerAndSchedulerOperationsMayDependOnEachOther() async throws {
        let scheduler = TestScheduler(seed: 1)
        let (driven, real) = (scheduler.makeQueue(), OperationQueue())
        let first = driven.add("first") { 1 }
        let second = real.add("second", after: first) { $0 + 1 }
        let third = driven.add("third", after: second) { $0 + 1 }
        try scheduler.runUntilIdle()
        #expect(try await second.value == 2)
        // The worker notifies the dependent at the end of its operation.
        while !third.isFinished {
            try scheduler.runUntilIdle()
            await Task.yield()
        }
        #expect(try third.result == 3)
    }
}
