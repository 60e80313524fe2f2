import Dispatch
import OperationsRuntime
import OperationsTestKit
import OperationsTestSupport
import Testing

@testable import Operations

/// What a full queue drops leaves on the thread that adds, with its body. No worker does anything
/// in most of these tests: a suspended dispatch queue keeps all of them away.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct OverflowMemoryTests {
    /// The ways to add work that keeps an object.
    enum Work: CaseIterable {
        case block, blockOperation, function, asyncFunction, waiting, withTrait

        func add(_ token: Token, to queue: OperationQueue, after gate: Operation) {
            switch self {
            case .block: queue.addOperation { withExtendedLifetime(token) {} }
            case .blockOperation:
                queue.addOperation(BlockOperation { withExtendedLifetime(token) {} })
            case .function: queue.add { withExtendedLifetime(token) {} }
            case .asyncFunction: queue.add { () async in withExtendedLifetime(token) {} }
            case .waiting:
                let operation = TypedOperation { withExtendedLifetime(token) {} }
                operation.addDependency(gate)
                queue.addOperation(operation)
            case .withTrait:
                // An operation with a trait is not on the fast path.
                queue.add(.retry(2)) { withExtendedLifetime(token) {} }
            }
        }
    }

    /// A queue of which no worker ever takes anything, until `run` is resumed.
    private func stalledQueue() -> (queue: OperationQueue, run: DispatchQueue) {
        let (queue, run) = (OperationQueue(), DispatchQueue(label: "stalled"))
        run.suspend()
        queue.underlyingQueue = run
        return (queue, run)
    }

    @Test(arguments: Work.allCases, [true, false])
    func theBodyIsReleasedWhenTheAdditionReturns(work: Work, dropsOldest: Bool) async {
        let (queue, run) = stalledQueue()
        queue.overflow = dropsOldest ? .dropOldest(capacity: 8) : .dropNewest(capacity: 8)
        let (gate, released) = (Operation(), Tally())
        for number in 1...100 {
            work.add(Token(released), to: queue, after: gate)
            #expect(number - released.value == min(number, 8))
            #expect(queue.operationCount == min(number, 8))
        }
        #expect(queue.snapshot { $0.ring.count } == 8)
        gate.start()
        run.resume()
        await queue.drain()
        #expect(await comesTrue { released.value == 100 })
        #expect(
            queue.snapshot {
                $0.limits!.droppedCount == 0 && $0.limits!.expectedCount == 0
            })
        #expect(queue.snapshot { $0.limits!.rejectedCount == 0 && $0.ready.count == 0 })
    }

    /// The same if an operation adds, which has not ended meanwhile.
    @Test func operationsThatAddReleaseWhatIsDropped() async throws {
        let frames = suspendedQueue()
        frames.overflow = .dropOldest(capacity: 8)
        let released = Tally()
        let most = try await OperationQueue().add {
            var most = 0
            for number in 1...100 {
                let token = Token(released)
                frames.add { withExtendedLifetime(token) {} }
                most = max(most, number - released.value)
            }
            return most
        }.value
        #expect(most == 8)
        frames.cancelAllOperations()
    }

    /// Threads add while operations that cannot end occupy the width.
    @Test(arguments: [true, false])
    func noMoreIsAliveThanFitsAndIsBeingAdded(dropsOldest: Bool) async {
        let queue = OperationQueue(width: 2)
        queue.overflow = dropsOldest ? .dropOldest(capacity: 8) : .dropNewest(capacity: 8)
        let gate = AsyncGate()
        let begun = Tally()
        for _ in 0..<2 {
            queue.add {
                begun.increment()
                try await gate.wait()
            }
        }
        #expect(await comesTrue { begun.value == 2 })
        let (made, released, threads) = (Tally(), Tally(), 3)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<threads {
                group.addTask {
                    for _ in 0..<2_000 {
                        made.increment()
                        let token = Token(released)
                        queue.add { withExtendedLifetime(token) {} }
                    }
                }
            }
        }
        #expect(made.value - released.value <= 6)
        gate.open()
        await queue.drain()
        #expect(await comesTrue { made.value == released.value })
    }

    /// A captured object whose `deinit` asks the queue.
    private final class Asking: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
        deinit { body() }
    }

    @Test(arguments: [true, false])
    func theReleaseRunsOutsideOfLocksAndOperations(dropsOldest: Bool) async {
        let queue = suspendedQueue()
        queue.overflow = dropsOldest ? .dropOldest(capacity: 1) : .dropNewest(capacity: 1)
        let counts = TestRecorder<Int>()
        let thread = TestRecorder<Bool>()
        let adder = ThreadContext.current.number
        for _ in 0..<2 {
            let object = Asking {
                // This takes the queue's lock.
                counts.record(queue.operationCount)
                thread.record(
                    Operation.current == nil && ThreadContext.current.number == adder)
            }
            queue.add { withExtendedLifetime(object) {} }
        }
        #expect(counts.events == [1] && thread.events == [true])
        queue.cancelAllOperations()
        await queue.drain()
    }

    /// A wait for the queue does not end because something takes the place of something else.
    @Test(arguments: Work.allCases) func theQueueIsNeverEmptyInBetween(work: Work) async {
        let (queue, run) = stalledQueue()
        queue.overflow = .dropOldest(capacity: 1)
        let (gate, released) = (Operation(), Tally())
        for _ in 0..<10 { work.add(Token(released), to: queue, after: gate) }
        #expect(queue.snapshot { $0.idleCount } == 0 && queue.operationCount == 1)
        gate.start()
        run.resume()
        await queue.drain()
        #expect(queue.snapshot { $0.idleCount } == 1)
    }

    /// What a worker has claimed and not begun is dropped like everything else that waits.
    @Test func claimedOperationsAreDropped() throws {
        let queue = suspendedQueue()
        queue.event { $0.slots.pace.typicalNanoseconds = 1 }
        let released = Tally()
        var operations: [Operation] = []
        for _ in 0..<4 {
            let token = Token(released)
            operations.append(queue.add { withExtendedLifetime(token) {} })
        }
        let claim = Claim()
        queue.event { state in
            state.changed(.suspended(false))
            _ = state.executorRequestedWork(claim, cores: 1)
            // No worker comes meanwhile.
            state.changed(.suspended(true))
        }
        #expect(claim.hasRest && queue.snapshot { $0.ready.count } == 0)
        let first = try #require(claim.takeNext()?.operation?.takeUnretainedValue())
        _ = first.exchange { $0.begunOnFastPath() }
        queue.overflow = .dropOldest(capacity: 4)
        let added = queue.add {}
        #expect(operations.map(\.isFinished) == [false, true, false, false] && !added.isCancelled)
        #expect(released.value == 1)
        // Ends what was claimed, so that the queue can go.
        _ = first.exchange { $0.finished() }
        let departure = queue.retire(claim, nanoseconds: 1)
        if let departure { queue.complete(departure) }
        claim.release()
        queue.cancelAllOperations()
    }

    /// What waits for another attempt has begun.
    @Test func anOperationBetweenAttemptsIsNotDropped() throws {
        let scheduler = TestScheduler(seed: 1)
        let queue = scheduler.makeQueue(width: 4)
        queue.overflow = .dropOldest(capacity: 1)
        let attempts = Tally()
        struct Failure: Error {}
        let retried = queue.add(.retry(3, backoff: .constant(.seconds(10)))) {
            attempts.increment()
            if attempts.value < 3 { throw Failure() }
        }
        try scheduler.advance(by: .seconds(5))
        let late = queue.add {}
        #expect(attempts.value == 1 && late.isCancelled && !retried.isCancelled)
        try scheduler.run()
        #expect(attempts.value == 3 && !retried.isCancelled)
    }

    // MARK: Blocks that were added before

    /// Setting a limit makes no operations of blocks; a block gets one only when it is dropped.
    @Test func blocksStayBlocksWhenALimitIsSet() async {
        let queue = suspendedQueue()
        let (released, ran) = (Tally(), Tally())
        for _ in 0..<3_000 {
            let token = Token(released)
            queue.addOperation {
                ran.increment()
                withExtendedLifetime(token) {}
            }
        }
        func blocks() -> Int {
            queue.event { (state: inout QueueState) -> Int in
                var count = 0
                for place in state.ring.head..<state.ring.tail {
                    if state.ring[place]?.isBlock == true { count += 1 }
                }
                return count
            }
        }
        queue.overflow = .dropOldest(capacity: 3_000)
        #expect(blocks() == 3_000)
        let operations = (0..<5).map { _ in queue.add { ran.increment() } }
        #expect(blocks() == 2_995 && released.value == 5 && queue.operationCount == 3_000)
        #expect(operations.allSatisfy { !$0.isCancelled })
        queue.isSuspended = false
        await queue.drain()
        #expect(ran.value == 3_000)
    }

    // MARK: Work

    /// An operation that needs a slot to leave.
    private final class Starting: Operation, @unchecked Sendable {
        override func start() { super.start() }
    }

    /// Each addition looks at few places, however many dropped operations cannot leave yet.
    @Test func additionsDoNotSearchWhatWasDropped() async {
        let queue = suspendedQueue()
        queue.overflow = .dropOldest(capacity: 4)
        for _ in 0..<2_000 { queue.addOperation(Starting()) }
        #expect(queue.snapshot { $0.limits!.visitedCount } <= 2_000)
        #expect(queue.operations.count { !$0.isCancelled } == 4)
        queue.isSuspended = false
        await queue.drain()
        #expect(queue.snapshot { $0.limits!.droppedCount == 0 })
    }

    @Test func additionsDoNotSearchBarriersAgain() async {
        let queue = suspendedQueue()
        for _ in 0..<2_000 { queue.addBarrierBlock {} }
        queue.overflow = .dropOldest(capacity: 4)
        for _ in 0..<2_000 { queue.add {} }
        #expect(queue.snapshot { $0.limits!.visitedCount } <= 4_000)
        #expect(queue.operations.count { !$0.isCancelled } == 4)
        queue.isSuspended = false
        await queue.drain()
    }
}
