import Dispatch
import OperationsTestKit
import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations
@testable import OperationsRuntime

/// A continuation that is resumed by hand.
private final class Pause: Sendable {
    private let continuation = Locked<CheckedContinuation<Void, Never>?>(nil)
    private let began = Signal()

    func wait() async {
        await withCheckedContinuation { continuation in
            self.continuation.withLock { $0 = continuation }
            began.send()
        }
    }

    func waitUntilReached() { #expect(began.wait()) }
    func end() { continuation.withLock { $0.take() }?.resume() }
}

private struct NotYet: Error {}

private func operation(_ quality: QualityOfService) -> BlockOperation {
    let operation = BlockOperation {}
    operation.qualityOfService = quality
    return operation
}

private func inTask<Made: Sendable>(
    _ priority: TaskPriority, _ make: @escaping @Sendable () -> Made
) async -> Made {
    await Task.detached(priority: priority) { make() }.value
}

/// Urgent work does not wait for less urgent work, in whichever way it comes to a worker. Each test
/// runs in a process of its own, in which work of default quality keeps all processors busy until
/// the urgent work has run.
@Suite(.ownThreads, .timeLimit(.minutes(10)))
struct UrgencyTests {
    @Test func operationStaysUrgentWhileItWaitsForAPermit() async {
        await #expect(processExitsWith: .success) {
            let (computing, queue, budget) = (Computing(), OperationQueue(), ConcurrencyBudget(1))
            let (started, end, began) = (Signal(), Signal(), Signal())
            queue.add(.cost(1, of: budget)) {
                started.send()
                end.wait()
                return
            }
            #expect(started.wait())
            let urgent = queue.add(.cost(1, of: budget), .qualityOfService(.userInteractive)) {
                began.send()
            }
            while urgent.isReady { yieldProcessor() }
            computing.begin()
            end.send()
            #expect(began.wait())
            computing.end()
        }
    }

    /// A holder that was granted its permits, and has not begun, is promoted by a waiter.
    @Test func promotionAfterTheGrantMakesUrgent() async {
        await #expect(processExitsWith: .success) {
            let (computing, queue, budget) = (Computing(), OperationQueue(), ConcurrencyBudget(1))
            budget.permits = 0
            let began = Signal()
            let granted = queue.add(.cost(1, of: budget)) { began.send() }
            while granted.isReady { yieldProcessor() }
            QualityOfServiceUse.begins(rank: 4)
            computing.begin()
            budget.permits = 1
            granted.qualityOfService = .userInteractive
            #expect(began.wait())
            computing.end()
        }
    }

    @Test func asyncBodyResumesWithItsUrgency() async {
        await #expect(processExitsWith: .success) {
            let (computing, queue) = (Computing(), OperationQueue())
            let done = Signal()
            computing.begin()
            let body: @Sendable () async -> Void = {
                for _ in 0..<3 { await Task.yield() }
                await withTaskGroup { $0.addTask { await Task.yield() } }
                _ = try? await [1, 2, 3].concurrentMap { $0 }
                done.send()
            }
            queue.add(.qualityOfService(.userInteractive), body: body)
            #expect(done.wait())
            _ = await inTask(.medium) {
                queue.add(.qualityOfService(.userInteractive), body: body)
            }
            #expect(done.wait())
            let attempts = Tally()
            _ = await inTask(.medium) {
                queue.add(.qualityOfService(.userInteractive), .retry(2, backoff: .none)) {
                    await Task.yield()
                    if attempts.increment() < 3 { throw NotYet() }
                    done.send()
                }
            }
            #expect(done.wait())
            computing.end()
        }
    }

    /// Jobs come from the threads of a callback. The last job of a body ends its task, which
    /// releases the executor, while the thread that has passed on the job is still in the
    /// executor's code.
    @Test func executorOutlivesThePassingOnOfItsLastJob() async {
        await #expect(processExitsWith: .success) {
            let callbacks = DispatchQueue(label: "callbacks", attributes: .concurrent)
            let request: @Sendable () async -> Void = {
                await withCheckedContinuation { continuation in
                    callbacks.async { continuation.resume() }
                }
            }
            for _ in 0..<200 {
                let queue = OperationQueue()
                queue.qualityOfService = .background
                for index in 0..<200 {
                    queue.add(.qualityOfService(index % 10 == 9 ? .userInteractive : .utility)) {
                        for _ in 0..<3 { await request() }
                    }
                }
                queue.qualityOfService = .userInitiated
                await queue.drain()
            }
        }
    }

    /// The promotion comes before a job of the body waits for a worker, or while one waits.
    @Test(arguments: [true, false])
    func waitingAsyncBodyIsPromoted(isResumedBefore: Bool) async {
        await #expect(processExitsWith: .success) { [isResumedBefore] in
            QualityOfServiceUse.begins(rank: 4)
            let (queue, computing, done) = (OperationQueue(), Computing(), Signal())
            let pauses = [Pause(), Pause()]
            let bodies = pauses.map { pause -> @Sendable () async -> Void in
                {
                    await pause.wait()
                    done.send()
                }
            }
            let operations = [
                await inTask(.medium) { TypedOperation(body: bodies[0]) },
                await onThread { TypedOperation(body: bodies[1]) },
            ]
            for (operation, pause) in zip(operations, pauses) {
                queue.addOperation(operation)
                pause.waitUntilReached()
            }
            computing.begin()
            for (operation, pause) in zip(operations, pauses) {
                if isResumedBefore { pause.end() }
                operation.qualityOfService = .userInteractive
                if !isResumedBefore { pause.end() }
                #expect(done.wait())
            }
            computing.end()
        }
    }

    @Test func operationsOfScopesAndGroupsAreUrgent() async {
        await #expect(processExitsWith: .success) {
            let (computing, queue) = (Computing(), OperationQueue())
            computing.begin()
            try await withOperationQueue { queue in
                let began = Signal()
                queue.add(.qualityOfService(.userInteractive)) { began.send() }
                #expect(await began.arrives())
                queue.add(.qualityOfService(.userInteractive)) {
                    await Task.yield()
                    began.send()
                }
                #expect(await began.arrives())
            }
            let (began, ended) = (Signal(), Signal())
            let group = GroupOperation("group") {
                TypedOperation<Void> { began.send() }
                TypedOperation<Void> {
                    await Task.yield()
                    began.send()
                }
            }
            group.qualityOfService = .userInteractive
            group.completionBlock = { ended.send() }
            queue.addOperation(group)
            #expect(began.wait() && began.wait() && ended.wait())
            computing.end()
        }
    }

    /// Two workers came for urgent work and find other work in the same queue. They must not count
    /// as busy with urgent work.
    @Test func operationBehindAnUrgentOneIsNotUrgent() async {
        await #expect(processExitsWith: .success) {
            let computing = Computing()
            let (mixed, other) = (computing.queue, OperationQueue())
            mixed.isSuspended = true
            for _ in 0..<WorkerPool.cores {
                mixed.add(.qualityOfService(.userInteractive)) {}
            }
            for _ in 0..<3 * WorkerPool.cores { mixed.addOperation { computing.compute() } }
            mixed.isSuspended = false
            computing.waitUntilBusy()
            let began = Signal()
            other.add(.qualityOfService(.userInteractive)) { began.send() }
            #expect(began.wait())
            computing.end()
        }
    }

    @Test func cancelledOperationLeavesWithItsUrgency() async {
        await #expect(processExitsWith: .success) {
            let (computing, queue) = (Computing(), suspendedQueue())
            let began = Signal()
            let cancelled = queue.add(.qualityOfService(.userInteractive)) {}
            let after = BlockOperation { began.send() }
            after.qualityOfService = .userInteractive
            after.addDependency(cancelled)
            let other = OperationQueue()
            other.addOperation(after)
            computing.begin()
            cancelled.cancel()
            #expect(began.wait())
            computing.end()
        }
    }

    // MARK: Aging

    /// Each urgent operation adds another one until the other operations have begun.
    @Test(arguments: [true, false])
    func urgentFloodDoesNotStarveOtherWork(isAsync: Bool) async {
        await #expect(processExitsWith: .success) { [isAsync] in
            let isOver = Atomic(false)
            let began = Tally()
            let flood = (0..<2 * WorkerPool.cores + 2).map { _ in OperationQueue() }
            @Sendable func goOn(in queue: OperationQueue) {
                guard !isOver.load(ordering: .relaxed) else { return }
                queue.add(.qualityOfService(.userInteractive)) { goOn(in: queue) }
            }
            for queue in flood {
                if isAsync {
                    queue.add(.qualityOfService(.userInteractive)) {
                        while !isOver.load(ordering: .relaxed) { await Task.yield() }
                    }
                } else {
                    goOn(in: queue)
                }
            }
            let rest = [QualityOfService.background, .utility, .default].map { quality in
                OperationQueue().add(.qualityOfService(quality)) { _ = began.increment() }
            }
            for operation in rest { await operation.waitUntilFinished() }
            isOver.store(true, ordering: .relaxed)
            #expect(began.value == 3)
            for queue in flood { await queue.drain() }
        }
    }

    // MARK: The rules alone

    /// A promotion, even to a low quality, makes no operation wait longer.
    @Test func promotionToBackgroundDoesNotLowerUrgency() {
        QualityOfServiceUse.begins(rank: 1)
        let queue = OperationQueue()
        var state = QueueState()
        let (first, last) = (BlockOperation {}, BlockOperation {})
        first.qualityOfService = .default
        last.qualityOfService = .background
        for operation in [first, last] { _ = state.add(operation, to: queue) }
        #expect(state.offer() == .usual)
        guard case .claim = state.executorRequestedWork(Claim(), offered: .usual, cores: 1) else {
            Issue.record("the first was not claimed")
            return
        }
        #expect(state.offer() == .background)
        for operation in [first, last] { Unmanaged.passUnretained(operation).release() }
    }

    @Test func workerClaimsOnlyTheUrgencyOfItsReference() {
        QualityOfServiceUse.begins(rank: 4)
        let queue = OperationQueue()
        var state = QueueState()
        let (usual, urgent) = (BlockOperation {}, BlockOperation {})
        usual.qualityOfService = .default
        urgent.qualityOfService = .userInteractive
        urgent.queuePriority = .high
        // The urgent operation was added first, so it promotes nothing.
        for operation in [urgent, usual] { _ = state.add(operation, to: queue) }
        #expect(state.offer() == .interactive)
        // A worker whose reference is not urgent enough leaves the operation to the other worker.
        let early = state.claimedCount(offered: .usual)
        #expect(early == 0)
        #expect(state.offer() == nil)
        let first = state.claimedCount(offered: .interactive)
        #expect(first == 1)
        #expect(state.offer() == .usual)
        // A worker whose reference is too urgent has the queue offered with the right urgency.
        _ = usual.exchange { $0.qualityEvent { $0.set(.background) } }
        let late = state.claimedCount(offered: .usual)
        #expect(late == 0)
        #expect(state.offer() == .background)
        let second = state.claimedCount(offered: .background)
        #expect(second == 1)
        for operation in [usual, urgent] { Unmanaged.passUnretained(operation).release() }
    }

    // MARK: Where qualities are in use

    /// After some code of the process has set a quality, other queues still have claims of blocks,
    /// and so has the queue itself once it was empty.
    @Test func onlyQueuesWithUnusualOperationsUseQualities() async {
        await #expect(processExitsWith: .success) {
            let (used, plain) = (suspendedQueue(), OperationQueue())
            used.qualityOfService = .utility
            #expect(!QualityOfServiceUse.isInQueues)
            used.addOperation {}
            used.qualityOfService = .default
            let isUsed = { used.snapshot { $0.qualities.areInUse } }
            #expect(isUsed() && QualityOfServiceUse.isInQueues)
            await plain.addOperations(
                [operation(.userInitiated), operation(.default)], waitUntilFinished: true)
            #expect(!plain.snapshot { $0.qualities.areInUse })
            used.isSuspended = false
            await used.drain()
            #expect(!isUsed() && !QualityOfServiceUse.isInQueues)
        }
    }

    /// Blocks are claimed together while only other queues use qualities.
    @Test func plainQueueClaimsBlocksTogether() {
        QualityOfServiceUse.begins(rank: 4)
        var state = QueueState()
        state.slots.pace.typicalNanoseconds = 1
        for _ in 0..<20 { state.add(Entry(Block {}, rank: QualityOfService.userInitiated.rank)) }
        let (usesQuality, count) = (state.qualities.areInUse, state.claimedCount(offered: .usual))
        #expect(!usesQuality && count == 20)
    }

    /// A quality that is lower than the one before promotes nothing, and counts all the same.
    @Test func loweredQualityIsInUse() async {
        let queue = suspendedQueue()
        let lowered = operation(.userInitiated)
        queue.addOperation(lowered)
        #expect(!queue.snapshot { $0.qualities.areInUse })
        lowered.qualityOfService = .background
        #expect(queue.snapshot { $0.qualities.areInUse })
        queue.isSuspended = false
        await queue.drain()
        #expect(!queue.snapshot { $0.qualities.areInUse })
    }

    /// The reference of a queue that has become empty may come late. The queue uses qualities until
    /// then, so that new blocks do not wait for it; and a worker that comes back after the end gets
    /// nothing.
    @Test func lateReferenceGetsNothingOfAnotherUrgency() {
        QualityOfServiceUse.begins(rank: 1)
        let queue = OperationQueue()
        var state = QueueState()
        let background = operation(.background)
        _ = state.add(background, to: queue)
        let offered = state.offer()
        #expect(offered == .background)
        _ = state.leave(background, releasesSlot: false)
        let isUsedWhileOffered = state.isEmpty && state.qualities.areInUse
        #expect(isUsedWhileOffered)
        state.add(Entry(Block {}, rank: 0))
        let next = state.offer()
        #expect(next == .usual)
        let late = state.claimedCount(offered: .background)
        #expect(late == 0)
        let claim = Claim()
        guard case .claim = state.executorRequestedWork(claim, cores: 1) else {
            Issue.record("the block was not claimed")
            return
        }
        while claim.takeNext() != nil {}
        _ = state.retire(claim, nanoseconds: 1)
        let isUsedAfterwards = state.qualities.areInUse || !state.isEmpty
        #expect(!isUsedAfterwards)
        state.add(Entry(Block {}, rank: 0))
        guard case .none = state.claimNext(Claim(), offered: .background, cores: 1, pending: 0)
        else {
            Issue.record("a worker of another niceness got the block")
            return
        }
        let last = state.offer()
        #expect(last == .usual)
        Unmanaged.passUnretained(background).release()
    }

    /// A wait of the main thread makes operations urgent only while other code uses qualities.
    @Test func waitsOfTheMainThreadUseNoQualityByThemselves() async {
        await #expect(processExitsWith: .success) {
            QualityOfServiceUse.begins(rank: 4)
            let (queue, other) = (suspendedQueue(), suspendedQueue())
            let rank = QualityOfService.userInteractive.rank
            queue.addOperation {}
            queue.event { $0.promoteAhead(of: $0.end, to: rank, byWait: true) }
            #expect(!queue.snapshot { $0.qualities.areInUse })
            other.addOperation(operation(.utility))
            queue.addOperation {}
            queue.event { $0.promoteAhead(of: $0.end, to: rank, byWait: true) }
            #expect(queue.snapshot { $0.qualities.areInUse })
        }
    }

    @Test func mostUrgentAdmittedOperationStartsFirst() throws {
        for seed in seeds(count: 50) {
            var random = SplitMix64(seed: seed)
            var granted = AdmittedOperations()
            var model: [(operation: Operation, urgency: Urgency)] = []
            for _ in 0..<300 {
                let urgency = try #require(Urgency(rawValue: random.below(4)))
                if random.happens(1, in: 2) {
                    let operation = Operation()
                    granted.append(.passUnretained(operation), urgency)
                    model.append((operation, urgency))
                } else if random.happens(1, in: 2), !model.isEmpty {
                    let index = random.below(model.count)
                    granted.raise(.passUnretained(model[index].operation), to: urgency)
                    if urgency > model[index].urgency {
                        model.append((model.remove(at: index).operation, urgency))
                    }
                } else {
                    let wanted = random.happens(1, in: 2) ? urgency : nil
                    let line = wanted ?? model.map(\.urgency).max()
                    let first = model.firstIndex { $0.urgency == line }
                    let expected = first.map { model.remove(at: $0).operation }
                    let popped = granted.popFirst(wanted)
                    let isRight =
                        popped?.toOpaque()
                        == expected.map { Unmanaged.passUnretained($0).toOpaque() }
                    try #require(isRight, "seed \(seed)")
                }
                #expect(granted.highestUrgency == model.map(\.urgency).max(), "seed \(seed)")
                #expect(granted.isEmpty == model.isEmpty)
            }
        }
    }

    @Test(arguments: [TaskPriority.high, .medium, .low])
    func creatorsTaskPriorityDoesNotChangeTheBodysQuality(maker: TaskPriority) async throws {
        let seen = await inTask(maker) {
            // In one queue those behind would promote those ahead of them.
            [QualityOfService.background, .utility, .userInitiated].map { quality in
                OperationQueue().add(.qualityOfService(quality)) { () async -> [TaskPriority?] in
                    let before = Task.currentPriority
                    await Task.yield()
                    return [before, Task.currentPriority, Task.basePriority]
                }
            }
        }
        for (operation, priority) in zip(seen, [TaskPriority.background, .utility, .high]) {
            // A wait for the value promotes nothing: the test is no operation.
            await operation.waitUntilFinished()
            #expect(try operation.result == [priority, priority, priority])
        }
    }
}

extension QueueState {
    /// Claims a claim with such a reference and returns its size.
    fileprivate mutating func claimedCount(offered urgency: Urgency) -> Int {
        let claim = Claim()
        guard case .claim = executorRequestedWork(claim, offered: urgency, cores: 1) else {
            return 0
        }
        var count = 0
        while claim.takeNext() != nil { count += 1 }
        return count
    }
}
