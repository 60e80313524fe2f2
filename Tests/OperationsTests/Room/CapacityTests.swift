import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations

/// Waits for capacity: until a queue has fewer operations than a limit.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct CapacityTests {
    /// Suspends until the queue has `count` capacity waiters.
    private func waiterCount(of queue: OperationQueue, reaches count: Int) async {
        #expect(await comesTrue { line(of: queue).waiterCount == count })
    }

    /// A task that waits for capacity, records its admission, and uses its place for an operation.
    private func waiter(
        _ name: String, _ queue: OperationQueue, below limit: Int, _ recorder: TestRecorder<String>
    ) -> Task<Void, any Error> {
        Task {
            do {
                let place = try await queue.acquireCapacity(below: limit)
                recorder.record(name)
                place.add(BlockOperation {})
            } catch {
                recorder.record("\(name) gave up")
                throw error
            }
        }
    }

    private func line(of queue: OperationQueue) -> CapacityQueue {
        queue.snapshot { $0.limits?.capacity ?? CapacityQueue() }
    }

    private func isQuiet(_ queue: OperationQueue) -> Bool { !line(of: queue).isInUse }

    // MARK: Claims

    private func takesSeveral(_ queue: OperationQueue) -> Bool {
        queue.claimsMany()
        return queue.snapshot { $0.claimSize(of: 100, cores: 1) > 1 && !$0.hasCompetingWork }
    }

    /// Capacity makes operations leave one by one only until the queue is empty.
    @Test func queueHasClaimsAgainOnceItWasEmpty() async {
        let (queue, end) = (OperationQueue(), Signal())
        #expect(takesSeveral(queue))
        let added = queue.tryAdd(capacity: 2) {
            end.wait()
            return
        }
        queue.addOperation {}
        #expect(queue.tryAdd(capacity: 1) {} == nil)
        #expect(!takesSeveral(queue))
        end.send()
        await added?.waitUntilFinished()
        await queue.drain()
        #expect(takesSeveral(queue))
        // The same once more: nothing is left behind by the first use.
        #expect(queue.tryAdd(capacity: 1) {} != nil)
        await queue.drain()
        #expect(takesSeveral(queue))
    }

    /// A reservation may outlive all operations, and a request may fail in an empty queue.
    @Test func queueHasClaimsAgainWhenTheLastReservationEnds() async throws {
        let queue = OperationQueue()
        func hold() async throws {
            let place = try await queue.acquireCapacity(below: 1)
            #expect(queue.tryAdd(capacity: 1) {} == nil)
            queue.addOperation {}
            await queue.drain()
            #expect(!takesSeveral(queue))
            _ = place.queue
        }
        try await hold()
        #expect(takesSeveral(queue))
    }

    /// While operations may end in a claim, a count of them comes after the recall of the claim, in
    /// a hold of the lock of its own. An empty queue has no claim.
    @Test func countComesAfterTheRecallOfClaims() {
        var state = QueueState()
        var idle = QueueState()
        let isIdleReserved = idle.reserveCapacityAtOnce(below: 1)
        #expect(isIdleReserved == true)
        let queue = OperationQueue()
        let operations = [BlockOperation {}, BlockOperation {}]
        for operation in operations { _ = state.add(operation, to: queue) }
        state.slots.pace.typicalNanoseconds = 1
        let claim = Claim()
        guard case .claim = state.executorRequestedWork(claim, cores: 1) else {
            Issue.record("nothing was claimed")
            return
        }
        let isReservedBefore = state.reserveCapacityAtOnce(below: 9)
        #expect(isReservedBefore == nil)
        state.beginLeavingOneByOne()
        let isReservedAfter = state.reserveCapacityAtOnce(below: 9)
        #expect(isReservedAfter == true)
        #expect(!claim.hasRest)
        for operation in operations { Unmanaged.passUnretained(operation).release() }
    }

    @Test func nothingWaitsBelowLimit() async throws {
        let queue = suspendedQueue()
        try await queue.waitForCapacity(below: 1)
        queue.addOperation {}
        try await queue.waitForCapacity(below: 2)
        queue.addBarrierBlock {}
        try await queue.waitForCapacity(below: 2)
        #expect(isQuiet(queue))
        queue.cancelAllOperations()
    }

    @Test func waitersAreAdmittedInOrder() async throws {
        let (queue, recorder) = (suspendedQueue(), TestRecorder<String>())
        queue.maxConcurrentOperationCount = 1
        let operations = (0..<3).map { _ in BlockOperation {} }
        await queue.addOperations(operations, waitUntilFinished: false)
        var waiters: [Task<Void, any Error>] = []
        // There would be capacity for the second waiter before the first.
        for (name, limit) in [("a", 1), ("b", 3), ("c", 1)] {
            waiters.append(waiter(name, queue, below: limit, recorder))
            await waiterCount(of: queue, reaches: waiters.count)
        }
        operations[1].cancel()
        await operations[1].waitUntilFinished()
        #expect(line(of: queue).waiterCount == 3 && line(of: queue).reservationCount == 0)
        queue.isSuspended = false
        for waiter in waiters { try await waiter.value }
        // The first two are admitted together, and each task records that when it resumes.
        #expect(recorder.events.sorted() == ["a", "b", "c"])
        #expect(recorder.events.filter { $0 != "b" } == ["a", "c"])
        await queue.drain()
        #expect(isQuiet(queue))
    }

    @Test func placeCountsUntilReturned() async throws {
        let (queue, recorder) = (OperationQueue(), TestRecorder<String>())
        func hold(_ body: () async -> Void) async throws {
            let place = try await queue.acquireCapacity(below: 1)
            await body()
            _ = place.queue
        }
        var second: Task<Void, any Error>?
        try await hold {
            second = waiter("second", queue, below: 1, recorder)
            await waiterCount(of: queue, reaches: 1)
            #expect(recorder.events == [])
        }
        try await second?.value
        await queue.drain()
        #expect(recorder.events == ["second"])
        #expect(isQuiet(queue))
    }

    @Test func cancelledTaskStopsWaiting() async throws {
        let (queue, recorder) = (suspendedQueue(), TestRecorder<String>())
        for _ in 0..<3 { queue.addOperation {} }
        let first = waiter("first", queue, below: 1, recorder)
        await waiterCount(of: queue, reaches: 1)
        let second = waiter("second", queue, below: 4, recorder)
        await waiterCount(of: queue, reaches: 2)
        first.cancel()
        await #expect(throws: CancellationError.self) { try await first.value }
        // The first waiter held back the second.
        try await second.value
        #expect(recorder.events.sorted() == ["first gave up", "second"])
        #expect(isQuiet(queue))
        queue.cancelAllOperations()
    }

    @Test func cancelledTaskDoesNotBeginToWait() async {
        let queue = OperationQueue()
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            try await queue.waitForCapacity(below: 1)
        }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(isQuiet(queue))
    }

    // MARK: Claims

    /// A queue of one slot whose next operations are claimed together.
    private func claimingQueue() -> OperationQueue {
        let queue = serialQueue()
        queue.claimsMany()
        queue.isSuspended = true
        return queue
    }

    @Test func finishedOperationOfClaimIsNotCounted() async throws {
        // The monitor thread may reclaim the claim of a worker that makes no progress.
        for _ in 0..<100 {
            let queue = claimingQueue()
            let (began, proceed) = (Signal(), Signal())
            queue.addOperation(BlockOperation {})
            queue.addOperation {
                began.send()
                proceed.wait()
            }
            queue.isSuspended = false
            #expect(await began.arrives())
            let isOneClaim = queue.snapshot { state in
                var taken = 0
                state.slots.claims.first?.forEachTaken { _ in taken += 1 }
                return taken == 2
            }
            try await queue.waitForCapacity(below: 2)
            proceed.send()
            await queue.drain()
            if isOneClaim { return }
        }
        Issue.record("there was no claim")
    }

    /// The first operation of a claim finishes while a task waits, and the next one keeps running.
    @Test(arguments: [true, false])
    func finishedOperationOfClaimFreesCapacity(isFirstWait: Bool) async throws {
        let (queue, recorder) = (claimingQueue(), TestRecorder<String>())
        if !isFirstWait { try await queue.waitForCapacity(below: 1) }
        let (began, proceed) = (Signal(), Signal())
        for _ in 0..<2 {
            queue.addOperation {
                began.send()
                proceed.wait()
            }
        }
        queue.isSuspended = false
        #expect(await began.arrives())
        let waiter = waiter("waiter", queue, below: 2, recorder)
        await waiterCount(of: queue, reaches: 1)
        proceed.send()
        try await waiter.value
        #expect(queue.operationCount == 2)
        proceed.send()
        await queue.drain()
        #expect(isQuiet(queue))
    }

    /// A chain in which each operation would follow in the claim of the previous one.
    @Test(arguments: [true, false])
    func followerInClaimDoesNotDelayCapacity(isFirstWait: Bool) async throws {
        let (queue, recorder) = (claimingQueue(), TestRecorder<String>())
        if !isFirstWait { try await queue.waitForCapacity(below: 1) }
        let (began, proceed) = (Signal(), Signal())
        let chain = (0..<2).map { _ in
            BlockOperation {
                began.send()
                proceed.wait()
            }
        }
        chain[1].addDependency(chain[0])
        await queue.addOperations(chain, waitUntilFinished: false)
        queue.isSuspended = false
        #expect(await began.arrives())
        let waiter = waiter("waiter", queue, below: 2, recorder)
        await waiterCount(of: queue, reaches: 1)
        proceed.send()
        try await waiter.value
        #expect(!chain[1].isFinished)
        proceed.send()
        await queue.drain()
    }

    // MARK: Many

    @Test func producersNeverExceedLimit() async throws {
        final class Token: Sendable {
            static let alive = Atomic<Int>(0)
            static let mostAlive = Atomic<Int>(0)
            init() {
                let now = Token.alive.add(1, ordering: .relaxed).newValue
                _ = Token.mostAlive.max(now, ordering: .relaxed)
            }
            deinit { Token.alive.subtract(1, ordering: .relaxed) }
        }
        let (queue, limit, producers) = (OperationQueue(), 100, 4)
        let share = 1_000_000 / slowness / producers
        let (occupancy, runs) = (Occupancy(), Tally())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<producers {
                group.addTask {
                    for _ in 0..<share {
                        let place = try await queue.acquireCapacity(below: limit)
                        let token = Token()
                        occupancy.enter()
                        place.add(
                            BlockOperation {
                                withExtendedLifetime(token) { _ = runs.increment() }
                                occupancy.leave()
                            })
                    }
                }
            }
            try await group.waitForAll()
        }
        await queue.drain()
        #expect(runs.value == share * producers)
        #expect(occupancy.highest <= limit)
        // Workers release finished operations a little later.
        #expect(Token.mostAlive.load(ordering: .relaxed) <= limit + 1_000)
        #expect(queue.snapshot { $0.ring.capacity } <= 1_024)
        #expect(isQuiet(queue))
    }

    @Test func cancellationsLoseNoCapacityAndNoTask() async {
        let queue = OperationQueue()
        let (admitted, gaveUp, count) = (Tally(), Tally(), 20_000 / slowness)
        await withTaskGroup(of: Void.self) { group in
            for index in 0..<count {
                let task = Task {
                    do {
                        let place = try await queue.acquireCapacity(below: 1 + index % 3)
                        admitted.increment()
                        if index % 2 == 0 { place.add(BlockOperation {}) }
                    } catch {
                        gaveUp.increment()
                    }
                }
                if index % 3 == 0 { group.addTask { task.cancel() } }
                group.addTask { await task.value }
            }
        }
        await queue.drain()
        #expect(admitted.value + gaveUp.value == count)
        #expect(isQuiet(queue))
    }

    @Test func fullQueueRefusesAnOperation() async throws {
        let queue = suspendedQueue()
        let first = queue.tryAdd("first", capacity: 2) { 1 }
        let second = queue.tryAdd(capacity: 2) { () async in 2 }
        #expect(first != nil && second != nil && first?.name == "first")
        #expect(queue.tryAdd(capacity: 2) { 3 } == nil)
        #expect(queue.operationCount == 2 && isQuiet(queue))
        // A larger capacity lets one more in.
        #expect(queue.tryAdd(capacity: 3) { 3 } != nil)
        queue.isSuspended = false
        await queue.drain()
        #expect(try first?.result == 1 && second?.result == 2)
        #expect(queue.tryAdd(capacity: 1) {} != nil)
        await queue.drain()
    }

    @Test func fullQueueLetsOperationsJoinAnother() async throws {
        let queue = suspendedQueue()
        let first = queue.tryAdd(.deduplicated(by: 1), capacity: 1) { 1 }
        #expect(queue.tryAdd(.deduplicated(by: 1), capacity: 1) { 2 } === first)
        #expect(queue.tryAdd(.deduplicated(by: 2), capacity: 1) { 2 } == nil)
        queue.cancelAllOperations()
    }

    @Test func waitingProducersComeFirst() async throws {
        let queue = suspendedQueue()
        queue.addOperation {}
        let recorder = TestRecorder<String>()
        let waiting = waiter("waiter", queue, below: 1, recorder)
        await waiterCount(of: queue, reaches: 1)
        #expect(queue.tryAdd(capacity: 5) {} == nil)
        queue.isSuspended = false
        try await waiting.value
        await queue.drain()
    }

    @Test func threadsTogetherDoNotExceedTheCapacity() async {
        let queue = suspendedQueue()
        let added = Tally()
        await withTaskGroup { group in
            for _ in 0..<8 {
                group.addTask {
                    for _ in 0..<100 where queue.tryAdd(capacity: 50, body: {}) != nil {
                        added.increment()
                    }
                }
            }
        }
        #expect(added.value == 50 && queue.operationCount == 50)
        queue.cancelAllOperations()
    }

    @Test func theWaitCanBeLimited() async throws {
        let scheduler = TestScheduler(seed: 1)
        let queue = scheduler.makeQueue(name: "uploads")
        queue.isSuspended = true
        queue.add {}
        let late = Task {
            try await queue.add(capacity: 1, within: .seconds(2)) { 1 }
        }
        await waiterCount(of: queue, reaches: 1)
        try scheduler.advance(by: .seconds(1))
        #expect(line(of: queue).waiterCount == 1)
        // The task may set its timer a little after it has begun to wait.
        #expect(
            await comesTrue {
                (try? scheduler.advance(by: .seconds(1))) != nil
                    && line(of: queue).waiterCount == 0
            })
        let error = await #expect(throws: OperationQueueFull.self) { try await late.value }
        #expect(
            error?.description
                == "queue 'uploads' still held 1 operation, which is its capacity, after 2.0 s")
        // Nobody waits, and nothing was added.
        #expect(queue.operationCount == 1 && isQuiet(queue))
        await #expect(throws: OperationQueueFull.self) {
            try await queue.add(capacity: 1, within: .zero) {}
        }
        queue.cancelAllOperations()
        try scheduler.run()
        let soon = try await queue.add(capacity: 1, within: .zero) { 5 }
        queue.isSuspended = false
        try scheduler.run()
        #expect(try soon.result == 5)
    }

    @Test func aWaitThatIsAdmittedInTimeIsNotEndedByItsTimer() async throws {
        let queue = suspendedQueue()
        let first = queue.add {}
        let waiting = Task { try await queue.add(capacity: 1, within: .seconds(300)) { 1 } }
        await waiterCount(of: queue, reaches: 1)
        first.cancel()
        queue.isSuspended = false
        #expect(try await waiting.value.value == 1)
        let cancelled = Task { () throws in
            queue.isSuspended = true
            queue.add {}
            _ = try await queue.add(capacity: 1, within: .seconds(300)) { 1 }
        }
        await waiterCount(of: queue, reaches: 1)
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        queue.cancelAllOperations()
    }
}
