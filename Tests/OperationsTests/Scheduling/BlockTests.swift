import OperationsRuntime
import OperationsTestSupport
import Synchronization
import Testing

@testable import Operations

extension OperationQueue {
    /// The number of blocks for which no operation was made and which have not left.
    var blockCount: Int {
        snapshot { state in
            var count = 0
            state.ring.forEach { _, entry in if entry.isBlock { count += 1 } }
            return count
        }
    }

    /// Has workers claim many blocks or operations at once.
    func claimsMany() { event { $0.slots.pace.typicalNanoseconds = 1 } }
}

private final class Record: Sendable {
    private let entries = Locked([Int]())

    func append(_ entry: Int) { entries.withLock { $0.append(entry) } }

    var values: [Int] { entries.withLock { $0 } }
}

private final class OtherQueue: OperationQueue, @unchecked Sendable {
    let added = Tally()
    override func addOperation(_ operation: Operation) {
        added.increment()
        super.addOperation(operation)
    }
}

/// Blocks for which no operation is made before somebody asks for one; see Blocks.md.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct BlockTests {
    // MARK: Blocks

    @Test func blocksRunInOrderWithoutOperations() async {
        let (queue, record) = (serialQueue(), Record())
        queue.isSuspended = true
        for index in 0..<200 { queue.addOperation { record.append(index) } }
        #expect(queue.blockCount == 200)
        #expect(queue.operationCount == 200)
        queue.isSuspended = false
        await queue.drain()
        #expect(record.values == Array(0..<200))
        #expect(queue.operationCount == 0)
        #expect(queue.totals.added == 200)
        #expect(queue.totals.unfinished == 0)
    }

    /// A block that the main thread adds inherits another quality than one of another thread.
    @Test(arguments: [false, true])
    func blocksThatInheritDifferentQualitiesStayBlocks(areMaterialized: Bool) async {
        let (queue, feeding, record) = (serialQueue(), serialQueue(), Record())
        let important = QualityOfService.userInitiated
        queue.isSuspended = true
        for quality in [important, .default] {
            let feeder = BlockOperation {
                queue.addOperation { record.append(ThreadContext.inferredQualityRank) }
            }
            feeder.qualityOfService = quality
            await feeding.addOperations([feeder], waitUntilFinished: true)
        }
        #expect(queue.blockCount == 2)
        if areMaterialized {
            #expect(queue.operations.map(\.effectiveQualityOfService) == [important, .default])
        }
        queue.isSuspended = false
        await queue.drain()
        #expect(record.values == [important.rank, 0])
    }

    @Test(arguments: [1, 2, 5])
    func widthHoldsForBlocks(width: Int) async {
        let (queue, occupancy, most) = (OperationQueue(), Tally(), Tally())
        let inside = Atomic<Int>(0)
        queue.maxConcurrentOperationCount = width
        for _ in 0..<500 {
            queue.addOperation {
                if inside.add(1, ordering: .relaxed).newValue > width { most.increment() }
                occupancy.increment()
                inside.subtract(1, ordering: .relaxed)
            }
        }
        await queue.drain()
        #expect(occupancy.value == 500)
        #expect(most.value == 0)
        #expect(queue.snapshot { $0.slots.taken } == 0)
    }

    @Test func everyOtherQueueMakesOperations() async {
        let (other, utility, ordered) = (OtherQueue(), OperationQueue(), OperationQueue())
        let (counting, observed) = (OperationQueue(), OperationQueue())
        utility.qualityOfService = .utility
        ordered.order = .fifo
        counting.progress.totalUnitCount = 1
        let observation = observed.observe(\.operationCount) { _, _ in }
        defer { observation.invalidate() }
        let queues = [other, utility, ordered, counting, observed]
        for queue in queues {
            queue.isSuspended = true
            queue.addOperation {}
            #expect(queue.blockCount == 0)
            #expect(queue.operations.count == 1)
            queue.isSuspended = false
        }
        for queue in queues { await queue.drain() }
        #expect(other.added.value == 1)
    }

    // MARK: Making operations

    static let others: [(name: String, makes: Int, body: @Sendable (OperationQueue) -> Void)] =
        [
            ("operations", 5, { #expect($0.operations.count == $0.operationCount) }),
            // The explanation is about the first ready operation.
            ("explain", 1, { #expect($0.explain().readyCount == 5) }),
            ("observing", 0, { $0.observe(\.operationCount) { _, _ in }.invalidate() }),
            ("observing both", 5, { $0.observe(\.operations) { _, _ in }.invalidate() }),
            ("order", 0, { $0.order = .fifo }),
            (
                "orders", 0,
                { for order in [.lifo, .fifo] as [OperationQueueOrder] { $0.order = order } }
            ),
            (
                "order and back", 0,
                { for order in [.lifo, .priority] as [OperationQueueOrder] { $0.order = order } }
            ),
            ("aging", 5, { $0.aging = .seconds(3600) }),
            ("quality", 0, { $0.qualityOfService = .userInitiated }),
            ("progress", 0, { _ = $0.progress }),
            ("total", 0, { $0.progress.totalUnitCount = 9 }),
            ("capacity", 0, { queue in queue.eventOffering { $0.beginLeavingOneByOne() } }),
            ("operation", 0, { $0.addOperation(BlockOperation {}) }),
            ("operations at once", 0, { queue in queue.add([BlockOperation {}]) }),
            ("barrier", 0, { $0.addBarrierBlock {} }),
        ]

    /// Only what needs all operations makes all. In every case the blocks run in their order, and
    /// the operations that are made later are those that would have been there.
    @Test(arguments: others.map(\.name))
    func othersMakeOnlyTheOperationsThatTheyNeed(_ name: String) async throws {
        let other = try #require(Self.others.first { $0.name == name })
        let (queue, record) = (serialQueue(), Record())
        queue.isSuspended = true
        for index in 0..<5 { queue.addOperation { record.append(index) } }
        other.body(queue)
        #expect(queue.blockCount == 5 - other.makes)
        let operations = Array(queue.operations.prefix(5))
        let areReady = operations.allSatisfy { type(of: $0) == BlockOperation.self && $0.isReady }
        #expect(areReady)
        queue.addOperation { record.append(5) }
        #expect(queue.operations.prefix(5) == operations[...])
        #expect(queue.blockCount == 0)
        queue.isSuspended = false
        await queue.drain()
        #expect(record.values == [0, 1, 2, 3, 4, 5])
        let areFinished = operations.allSatisfy { $0.isFinished }
        #expect(areFinished)
    }

    /// An explanation of any ready operation makes the operations that it names, and no others.
    @Test(arguments: ["suspended", "strict", "behind a barrier", "full"])
    func explanationMakesOnlyTheOperationsThatItNames(_ kind: String) async {
        let queue = serialQueue()
        let (began, end) = (Signal(), Signal())
        queue.isSuspended = kind == "suspended"
        if kind == "strict" { queue.order = .fifo }
        queue.addOperation {
            began.send()
            end.wait()
        }
        if kind != "suspended" { #expect(began.wait()) }
        queue.order = .priority
        if kind == "behind a barrier" { queue.addBarrierBlock {} }
        for _ in 0..<3_000 { queue.addOperation {} }
        let last = BlockOperation {}
        queue.addOperation(last)
        if kind == "strict" { queue.order = .fifo }
        let (text, ready) = (queue.explain().description, queue.explain().readyCount)
        #expect(ready >= 3_001, "\(text)")
        #expect(!last.explain().description.isEmpty)
        #expect(queue.blockCount >= 2_999)
        end.send()
        queue.isSuspended = false
        await queue.drain()
    }

    /// A walk over the queue finds each entry once, also if the ring has moved its entries.
    @Test func walkSeesEachEntryOnce() {
        let queue = suspendedQueue()
        let count = 3 * OperationQueue.placesAtOnce + 5
        for index in 0..<count {
            if index % 100 == 0 {
                queue.addOperation(BlockOperation {})
            } else {
                queue.addOperation {}
            }
        }
        var places: [Int] = []
        queue.walk {
            places = []
        } _: { _, _, place in
            places.append(place)
        }
        #expect(places.count == count && Set(places).count == count)
        #expect(queue.operationsAtWork().isEmpty)
        queue.cancelAllOperations()
    }

    /// The order of blocks and operations that were pending when the order of the queue was set.
    @Test(arguments: OperationQueueOrder.allCases, [1, 3])
    func pendingBlocksFollowANewOrder(order: OperationQueueOrder, changes: Int) async {
        let (queue, record) = (serialQueue(), Record())
        queue.isSuspended = true
        let count = 300
        for index in 0..<count {
            if index % 7 == 3 {
                let operation = BlockOperation { record.append(index) }
                if index % 2 == 0 { operation.queuePriority = .high }
                queue.addOperation(operation)
            } else {
                queue.addOperation { record.append(index) }
            }
        }
        for change in 1..<changes {
            queue.order = OperationQueueOrder.allCases[change % 3]
        }
        queue.order = order
        #expect(queue.blockCount == count - (count + 3) / 7)
        queue.isSuspended = false
        await queue.drain()
        let urgent = (0..<count).filter { $0 % 7 == 3 && $0 % 2 == 0 }
        let others = (0..<count).filter { !($0 % 7 == 3 && $0 % 2 == 0) }
        switch order {
        case .priority: #expect(record.values == urgent + others)
        case .lifo: #expect(record.values == urgent.reversed() + others.reversed())
        case .fifo: #expect(record.values == Array(0..<count))
        }
    }

    /// In a strict order a block that a worker returns holds back those behind it again.
    @Test func returnedBlockKeepsItsPlaceInAStrictOrder() {
        var state = QueueState(width: 1)
        let claim = Claim()
        let oldest = Entry(Block {}, rank: 0)
        for block in [oldest, Entry(Block {}, rank: 0), Entry(Block {}, rank: 0)] {
            state.add(block)
        }
        state.arrange(order: .fifo, agingSpan: nil, hasGroups: false)
        state.slots.pace.typicalNanoseconds = 1
        guard case .claim = state.executorRequestedWork(claim, cores: 1) else {
            Issue.record("nothing was claimed")
            return
        }
        #expect(claim.takeNext()?.identity == oldest.identity)
        #expect(claim.hasRest)
        let whileClaimed = state.best()?.place
        state.returnRest(of: claim)
        let (next, first) = (state.best()?.place, state.firstStrictly(before: 2))
        #expect(whileClaimed == nil && next == 1 && first == 1)
    }

    @Test func blockLearnsItsOperation() async {
        let (queue, record) = (serialQueue(), Record())
        let seen = Locked([Operation]())
        queue.claimsMany()
        queue.isSuspended = true
        for index in 0..<4 {
            queue.addOperation {
                record.append(index)
                #expect(OperationQueue.current === queue)
                guard index != 1, let own = Operation.current else { return }
                #expect(own === Operation.current)
                #expect(own.isExecuting)
                #expect(queue.operations.first === own)
                #expect(queue.operationCount == 4 - index)
                seen.withLock { $0.append(own) }
            }
        }
        queue.isSuspended = false
        await queue.drain()
        #expect(record.values == [0, 1, 2, 3])
        let operations = seen.withLock { $0 }
        #expect(Set(operations).count == 3)
        let areFinished = operations.allSatisfy { $0.isFinished }
        #expect(areFinished)
        #expect(queue.snapshot { $0.slots.taken } == 0)
    }

    @Test(arguments: [1, 10])
    func runningBlockIsMaterializedByAnotherThread(count: Int) async throws {
        let (queue, record) = (serialQueue(), Record())
        let (begun, gate, completed) = (Signal(), Signal(), Signal())
        queue.claimsMany()
        queue.isSuspended = true
        queue.addOperation {
            begun.send()
            gate.wait()
            record.append(Operation.current?.isCancelled == true ? 0 : -1)
        }
        for index in 1..<count { queue.addOperation { record.append(index) } }
        queue.isSuspended = false
        #expect(await begun.arrives())
        #expect(queue.operationCount == count)
        let operations = queue.operations
        #expect(operations.count == count)
        let first = try #require(operations.first)
        #expect(first.isExecuting)
        let areWaiting = operations.dropFirst().allSatisfy { !$0.isExecuting && $0.isReady }
        #expect(areWaiting)
        #expect(queue.operations == operations)
        first.cancel()
        first.completionBlock = { completed.send() }
        gate.send()
        await first.waitUntilFinished()
        #expect(first.isFinished)
        #expect(await completed.arrives())
        await queue.drain()
        #expect(record.values == Array(0..<count))
        #expect(queue.snapshot { $0.slots.taken } == 0)
    }

    @Test func blocksMayBeMaterializedByManyThreads() async {
        let (queue, runs) = (OperationQueue(), Tally())
        queue.isSuspended = true
        for _ in 0..<1_000 { queue.addOperation { runs.increment() } }
        queue.isSuspended = false
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<8 { group.addTask { await onThread { _ = queue.operations } } }
        }
        await queue.drain()
        #expect(runs.value == 1_000)
    }

    @Test func materializedBlockTakesPartInTheGraph() async throws {
        let (queue, record) = (OperationQueue(), Record())
        queue.isSuspended = true
        queue.addOperation { record.append(1) }
        let first = try #require(queue.operations.first)
        let dependency = BlockOperation { record.append(0) }
        first.addDependency(dependency)
        queue.addOperation(dependency)
        let last = BlockOperation { record.append(2) }
        last.addDependency(first)
        queue.addOperation(last)
        queue.isSuspended = false
        await queue.drain()
        #expect(record.values == [0, 1, 2])
    }

    @Test func moreUrgentOperationOvertakesAClaim() async {
        let (queue, record) = (serialQueue(), Record())
        queue.claimsMany()
        queue.isSuspended = true
        queue.addOperation {
            let urgent = BlockOperation { record.append(1) }
            urgent.queuePriority = .high
            queue.addOperation(urgent)
            record.append(0)
        }
        for index in 2..<6 { queue.addOperation { record.append(index) } }
        queue.isSuspended = false
        await queue.drain()
        #expect(record.values == [0, 1, 2, 3, 4, 5])
    }

    // MARK: Blocks between operations

    @Test func oneBlockLearnsItsOperationAndTheOthersStayBlocks() async {
        let (queue, counts) = (serialQueue(), Record())
        queue.claimsMany()
        queue.isSuspended = true
        for index in 0..<100 {
            queue.addOperation {
                guard index == 10 else { return }
                #expect(Operation.current?.isExecuting == true)
                // Its own block is none any more, and those before may have left.
                counts.append(queue.blockCount)
            }
        }
        queue.isSuspended = false
        await queue.drain()
        #expect(counts.values.count == 1 && counts.values[0] >= 89)
    }

    @Test(arguments: seeds(1, 2, 3, 4))
    func blocksAndOperationsStartInTheOrderOfAddition(seed: UInt64) async {
        var random = SplitMix64(seed: seed)
        let (queue, record) = (serialQueue(), Record())
        queue.claimsMany()
        queue.isSuspended = true
        for index in 0..<500 {
            switch random.below(20) {
            case 0: queue.addOperation(BlockOperation { record.append(index) })
            case 1: queue.addBarrierBlock { record.append(index) }
            case 2: queue.add([BlockOperation { record.append(index) }])
            case 3:
                queue.addOperation {
                    record.append(index)
                    _ = Operation.current
                }
            default: queue.addOperation { record.append(index) }
            }
            if random.happens(1, in: 100) { _ = queue.operations }
        }
        #expect(queue.operationCount == 500 - queue.snapshot { $0.barriers.count })
        queue.isSuspended = false
        await queue.drain()
        #expect(record.values == Array(0..<500))
    }

    /// An operation of low priority that a worker has claimed gives way to a block.
    @Test func blockOvertakesClaimedOperationsOfLowPriority() async {
        let (queue, record) = (serialQueue(), Record())
        queue.claimsMany()
        queue.isSuspended = true
        for index in 0..<4 {
            let low = BlockOperation {
                record.append(index)
                if index == 0 { queue.addOperation { record.append(10) } }
            }
            low.queuePriority = .low
            queue.addOperation(low)
        }
        queue.isSuspended = false
        await queue.drain()
        #expect(record.values == [0, 10, 1, 2, 3])
    }

    /// The ring moves its entries together while workers run some of the blocks.
    @Test func ringMovesBlocksThatAreClaimed() async {
        let (queue, gate, runs) = (OperationQueue(), Signal(), Tally())
        queue.maxConcurrentOperationCount = 3
        queue.addOperation(BlockOperation { gate.wait() })
        for round in 0..<200 {
            for _ in 0..<50 {
                queue.addOperation {
                    runs.increment()
                    if runs.value % 40 == 0 { _ = Operation.current }
                }
            }
            if round % 20 == 0 { #expect(queue.operations.count >= 1) }
            #expect(await comesTrue { runs.value >= 50 * round })
        }
        #expect(await comesTrue { runs.value == 10_000 && queue.operationCount == 1 })
        #expect(queue.snapshot { $0.ring.capacity } <= 256)
        gate.send()
        await queue.drain()
    }

    @Test func droppedBlocksOfAnObservedQueueLeaveOneByOne() async {
        let (queue, counts) = (serialQueue(), Record())
        queue.isSuspended = true
        for _ in 0..<5 { queue.addOperation {} }
        let observation = queue.observe(\.operationCount) { queue, _ in
            counts.append(queue.operationCount)
        }
        queue.addOperation {}
        queue.cancelAllOperations()
        await queue.drain()
        #expect(await comesTrue { counts.values.count == 7 })
        #expect(counts.values.last == 0)
        observation.invalidate()
    }

    /// A thread asks for the operation of the last block after the body has returned, and before
    /// the worker retires its claim.
    @Test func blockIsMaterializedAfterItsBodyHasReturned() throws {
        let queue = OperationQueue()
        let claim = Claim()
        queue.isSuspended = true
        let released = Tally()
        do {
            let token = Token(released)
            queue.addOperation { withExtendedLifetime(token) {} }
        }
        var operation: Operation? = queue.event { state in
            state.changed(.suspended(false))
            guard case .claim = state.executorRequestedWork(claim, cores: 1),
                let block = claim.takeNext(), block.isBlock, claim.takeNext() == nil
            else { return nil }
            #expect(state.operationCount == 1)
            state.materializeRunning(in: claim)
            #expect(claim.isMaterialized && state.operationCount == 1)
            #expect(state.retire(claim, nanoseconds: 1) == nil)
            return claim.runningEntry?.operation?.takeUnretainedValue()
        }
        do {
            let taken = operation.take()
            let made = try #require(taken)
            #expect(made.isExecuting && queue.operations == [made])
            ThreadContext.current.inside(nil, of: queue) {
                #expect(queue.endMaterialized(of: claim, context: .current) == nil)
            }
            #expect(made.isFinished && queue.operationCount == 0)
        }
        let departure = try #require(queue.retire(claim, nanoseconds: 1))
        queue.complete(departure)
        #expect(released.value == 0)
        claim.release()
        #expect(released.value == 1)
        #expect(queue.snapshot { $0.isEmpty && $0.slots.taken == 0 && $0.slots.claims.isEmpty })
    }

    /// The block before an operation that was taken out of its claim does not run any more.
    @Test func endedBlockStaysEndedWhenTheOneBehindItIsTakenOut() {
        let queue = OperationQueue()
        let claim = Claim()
        queue.isSuspended = true
        queue.event { $0.slots.pace.typicalNanoseconds = 1 }
        for _ in 0..<2 { queue.addOperation {} }
        queue.event { state in
            state.changed(.suspended(false))
            _ = state.executorRequestedWork(claim, cores: 1)
        }
        let taken = [claim.takeNext(), claim.takeNext()]
        #expect(taken.allSatisfy { $0?.isBlock == true } && queue.operationCount == 1)
        // From here on each end is recorded, so the second block leaves by itself.
        queue.progress.totalUnitCount = 2
        ThreadContext.current.inside(nil, of: queue) {
            #expect(queue.endMaterialized(of: claim, context: .current) == nil)
        }
        #expect(queue.operationCount == 0 && queue.operations.isEmpty && !claim.isMaterialized)
        let departure = queue.retire(claim, nanoseconds: 1)
        if let departure { queue.complete(departure) }
        claim.release()
        #expect(departure != nil && queue.snapshot { $0.isEmpty && $0.slots.taken == 0 })
    }

    @Test func droppedBlocksTeachNoDuration() async {
        let queue = OperationQueue()
        queue.isSuspended = true
        for _ in 0..<500 { queue.addOperation {} }
        let before = queue.snapshot { $0.slots.pace.typicalNanoseconds }
        queue.cancelAllOperations()
        await queue.drain()
        #expect(queue.snapshot { $0.slots.pace.typicalNanoseconds } == before)
    }

    /// A block that another worker had claimed goes before claimed operations of low priority.
    @Test func returnedBlockRecallsOperationsOfLowPriority() {
        let queue = OperationQueue()
        let (first, second) = (Claim(), Claim())
        queue.isSuspended = true
        queue.event { $0.slots.pace.typicalNanoseconds = 1 }
        for _ in 0..<2 { queue.addOperation {} }
        let low = (0..<4).map { _ in
            let operation = BlockOperation {}
            operation.queuePriority = .low
            return operation
        }
        let recalls = queue.event { state -> Bool in
            state.changed(.suspended(false))
            state.changed(.width(2))
            _ = state.executorRequestedWork(first, cores: 1)
            for operation in low { _ = state.add(operation, to: queue) }
            _ = state.executorRequestedWork(second, cores: 1)
            #expect(first.takeNext() != nil && second.takeNext() != nil)
            let epoch = state.slots.recallEpoch
            _ = state.reclaimRest(of: first)
            return state.slots.recallEpoch != epoch
        }
        #expect(recalls)
        // Ends what was claimed, so that the queue can go.
        for claim in [first, second] {
            queue.run(claim, context: .current)
            if let departure = queue.retire(claim, nanoseconds: 1) { queue.complete(departure) }
            claim.release()
        }
        while queue.operationCount > 0 { queue.runNext(on: .workers) }
    }

    // MARK: Barriers and suspension

    @Test func barriersSeparateBlocks() async {
        let (queue, before, after) = (OperationQueue(), Tally(), Tally())
        let problems = Tally()
        for _ in 0..<100 { queue.addOperation { before.increment() } }
        queue.addBarrierBlock {
            if before.value != 100 || after.value != 0 { problems.increment() }
        }
        for _ in 0..<100 { queue.addOperation { after.increment() } }
        await queue.drain()
        #expect(problems.value == 0)
        #expect(after.value == 100)
    }

    @Test func suspensionHoldsInTheMiddleOfAClaim() async {
        let (queue, record) = (serialQueue(), Record())
        queue.claimsMany()
        queue.isSuspended = true
        for index in 0..<10 {
            queue.addOperation {
                record.append(index)
                if index == 3 { queue.isSuspended = true }
            }
        }
        queue.isSuspended = false
        #expect(await comesTrue { queue.snapshot { $0.slots.isSuspended && $0.slots.taken == 0 } })
        #expect(record.values == [0, 1, 2, 3])
        #expect(queue.blockCount == 6)
        queue.isSuspended = false
        await queue.drain()
        #expect(record.values == Array(0..<10))
    }

    @Test func noBlockWaitsBehindABlockedOne() async {
        let (queue, gate, runs) = (OperationQueue(), Signal(), Tally())
        queue.claimsMany()
        queue.isSuspended = true
        queue.addOperation { gate.wait() }
        for _ in 0..<20 { queue.addOperation { runs.increment() } }
        queue.isSuspended = false
        #expect(await comesTrue { runs.value == 20 })
        gate.send()
        await queue.drain()
    }
}
