import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct FeedingTests {
    struct Broken: Error, Equatable {}

    @Test(arguments: [true, false])
    func addEachReturnsAtTheEndAndRespectsItsLimit(isAsync: Bool) async throws {
        let (queue, tap) = (OperationQueue(), Tap(500))
        let (ran, counts, taken) = (Tally(), TestRecorder<Int>(), tap.taken)
        let body: @Sendable (Int) async throws -> Void = { _ in
            // Elements that were taken and have not ended are in the queue.
            counts.record(taken.value - ran.value)
            counts.record(queue.operationCount)
            ran.increment()
        }
        if isAsync {
            try await queue.add(
                "row", .priority(.low), each: AsyncTap(tap: tap), capacity: 7, body: body)
        } else {
            try await queue.add("row", .priority(.low), each: tap, capacity: 7, body: body)
        }
        #expect(ran.value == 500 && queue.operationCount == 0)
        #expect(counts.events.allSatisfy { $0 <= 7 })
    }

    @Test func firstFailureDoesNotCancelUnrelatedOperations() async throws {
        let (queue, gate) = (OperationQueue(), UncancellableGate())
        let other = queue.add {
            await gate.wait()
            return 1
        }
        let seen = TestRecorder<Operation>()
        await #expect(throws: Broken()) {
            try await queue.add(each: 0..<100, capacity: 4) { number in
                if let operation = Operation.current { seen.record(operation) }
                if number == 3 { throw Broken() }
                try await untilCancelled()
            }
        }
        #expect(queue.operationCount == 1 && !other.isCancelled)
        #expect(seen.events.count <= 4)
        for operation in seen.events where operation.isCancelled {
            if case .siblingFailed? = operation.cancellationReason { continue }
            Issue.record("\(String(describing: operation.cancellationReason))")
        }
        gate.open()
        #expect(try await other.value == 1)
    }

    @Test func cancellingOneOperationEndsAddEach() async throws {
        let queue = serialQueue()
        queue.isSuspended = true
        let task = Task { try await queue.add("row", each: 0..<100, capacity: 4) { _ in } }
        #expect(await comesTrue { queue.operationCount == 4 })
        queue.operations[2].cancel(because: "enough")
        await #expect(throws: OperationCancellation.self) { try await task.value }
        queue.isSuspended = false
        await queue.drain()
    }

    @Test func cancellingTheTaskEndsAddEach() async throws {
        let queue = suspendedQueue()
        let task = Task { try await queue.add(each: 0..<100, capacity: 4) { _ in } }
        #expect(await comesTrue { queue.operationCount == 4 })
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(queue.operationCount == 0)
    }

    @Test func scopeThrowsTheFailureOfAddEach() async {
        await #expect(throws: Broken()) {
            try await withOperationQueue { queue in
                try await queue.add(each: 0..<100, capacity: 4) { number in
                    if number == 50 { throw Broken() }
                }
            }
        }
    }

    @Test func severalTasksMayFeedOneQueue() async throws {
        let (queue, ran) = (serialQueue(), Tally())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    try await queue.add(each: 0..<(2_000 / slowness), capacity: 3) { _ in
                        ran.increment()
                        #expect(queue.operationCount <= 12)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(ran.value == 4 * (2_000 / slowness))
    }

    @Test func addEachEndsAfterAFailureOrCancellationAtAnyTime() async {
        for round in 0..<(300 / slowness) {
            let queue = OperationQueue()
            let task = Task {
                try await queue.add(each: 0..., capacity: 3) { number in
                    if number == round % 50, round % 3 == 0 { throw Broken() }
                    if number == round % 40, round % 3 == 1 { queue.cancelAllOperations() }
                    if number == round % 30, round % 3 == 2 { await Task.yield() }
                }
            }
            if round % 3 == 2 { task.cancel() }
            let result = await task.result
            #expect(throws: (any Error).self) { try result.get() }
            #expect(queue.operationCount == 0)
        }
    }

    @Test func addEachThatWouldWaitForItselfTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = OperationQueue()
            queue.name = "Q"
            queue.maxConcurrentOperationCount = 1
            let outer = queue.add("outer") {
                try await queue.add("row", each: 0..<10, capacity: 2) { _ in }
            }
            try await outer.value
        }
        expect(result, says: "'row' is ready, but the only slot of queue 'Q' is taken by 'outer'")
    }

    @Test func addWithinALimitTakesANameAndTraits() async throws {
        let queue = OperationQueue()
        let runs = Tally()
        let flaky = try await queue.add("flaky", .retry(1, backoff: .none), capacity: 1) {
            if runs.increment() == 1 { throw NoConnection() }
            return 2
        }
        #expect(try await flaky.value == 2 && flaky.name == "flaky")
        let other = try await queue.add("other", capacity: 1) { () async in 3 }
        #expect(try await other.value == 3 && other.name == "other")
    }

    @Test func limitOfZeroTraps() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            try await OperationQueue().add(each: [1], capacity: 0) { _ in }
        }
        expect(result, says: "cannot be fed with a capacity of 0: nothing would ever be added")
        let single = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent])
        {
            let queue = OperationQueue()
            queue.name = "Q"
            _ = try await queue.add(capacity: 0) { 1 }
        }
        expect(
            single, says: "queue 'Q' never has capacity below 0 operations: nothing would ever be")
    }
}
