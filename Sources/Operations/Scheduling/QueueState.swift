import Synchronization

/// What a queue holds and what it may start next.
///
/// Guarded by the queue's lock. Its methods are events; what must be done about one is returned and done
/// after the lock is released. They touch operations only through their words.
struct QueueState: ~Copyable {
    typealias Reference = Unmanaged<Operation>

    var ring = OperationRing()
    var rescheduled = RescheduledOperations()
    /// Barriers that have not finished, in their order.
    var barriers = TicketList<Reference>()
    /// How many barriers there ever were.
    var barriersAdded = 0
    /// The batches of workers, which hold operations that are claimed.
    var batches: [Batch] = []
    private(set) var waiters = TicketList<Waiter>()
    /// How many operations are in the lanes of priorities.
    var readyCount = 0
    /// Slots of the width that are taken: by batches and by single operations.
    var running = 0
    /// Operations that are not plain: while there are any, there are no batches.
    var unbatchableCount = 0
    /// Whether nothing but priorities, places and barriers decides about the order.
    var usesDefaultOrder = true
    /// Whether the order is strictly that of adding.
    var isStrict = false
    var room = CapacityQueue()
    /// With which urgencies references to the queue lie with its executor.
    var offered = OfferedUrgencies()
    /// The lowest lane of which a batch may hold a rest.
    var lowestBatchedLane = Operation.QueuePriority.count
    /// How long an operation of this queue takes, by the last batches.
    var typicalNanoseconds = Self.unknownNanoseconds
    /// Whether bodies of the last batch were suspended: each takes a slot.
    var bodiesSuspend = false
    /// Raised whenever batches should give back what they have not begun.
    private(set) var recallEpoch: UInt32 = 0
    /// Operations that only an override of `isReady` holds back, retained; see `recordHesitation`.
    var hesitating = FIFO<Reference>()
    /// How many events have asked these again.
    var eventNumber = 0
    /// How often the queue has become empty.
    private(set) var idleCount: UInt64 = 0

    /// Who is told of changes; set when the queue is first observed.
    var observations: Observations<OperationQueue>?
    /// True while somebody has to be told of each operation that comes or goes. Then there are no
    /// batches, so that each can be told when it happens.
    var notifiesEach = false
    /// True while operations are given out one by one, because of that or for a driver.
    var givesEach = false
    /// Claimed by those who gave them units, retained for the workers; see `grant`.
    var granted = GrantedOperations()
    /// True if something was recorded that has to be told when the lock is released.
    var hasChanges = false
    /// Operations of batches that had finished when `notifiesEach` was set.
    var alreadyGone: Set<ObjectIdentifier> = []

    private(set) var isSuspended = false
    private(set) var width: Int
    private(set) var executor: QueueExecutor

    init(
        executor: QueueExecutor = .workers,
        width: Int = OperationQueue.defaultMaxConcurrentOperationCount
    ) {
        self.executor = executor
        self.width = width
        givesEach = hasDriver
    }

    var hasDriver: Bool { if case .driver = executor { true } else { false } }

    /// The rank of the queue's quality of service.
    var qualityRank = 0
    var qualityMarks = QualityMarks()
    /// Whether an underlying queue decides about the threads: then there are no promotions here.
    var ignoresQuality = false
    /// In which order ready operations go; changed by ``arrange(order:ageing:)``.
    var order = OperationQueueOrder.priority
    /// In a strict order: all before this place are past.
    var fifoCursor = 0
    /// Those that are ready, if they age: then they are in no lane.
    var ageing: AgeingOperations?
    /// After how many nanoseconds a ready operation counts one priority higher.
    var ageingSpan: Int64?
    /// Tells the time, in nanoseconds, in place of the monotonic clock.
    var clock: (@Sendable () -> Int64)?

    /// Operations that somebody has to promote once the lock is free.
    var promotions: [Promotion]?
    var promotesClaimed = false

    // MARK: Looking

    var isEmpty: Bool { ring.count == 0 }

    /// The place that the next operation gets.
    var end: Int { ring.tail }

    var hasFreeSlot: Bool { width < 0 || running < width }

    /// The place of the first barrier, beyond which nothing is eligible.
    var barrierPlace: Int {
        @inline(__always) get {
            if barriers.isEmpty { return Int.max }
            return barriers.first?._withUnsafeGuaranteedRef { $0.place } ?? Int.max
        }
    }

    var isRunnable: Bool {
        mutating get {
            if ring.readyCount(OperationRing.cancelledLane) > 0 || !granted.isEmpty { return true }
            guard !isSuspended, readyCount > 0, hasFreeSlot else { return false }
            return (barriers.isEmpty && !isStrict) || best() != nil
        }
    }

    /// Operations that have finished, but lie in a batch that is not folded yet.
    private var finishedInBatches: Int {
        var count = 0
        for batch in batches {
            for operation in batch.taken
            where operation._withUnsafeGuaranteedRef({ $0.status.phase == .finished }) {
                count += 1
            }
        }
        return count
    }

    /// Whether all that it holds has finished, and leaves when batches are folded.
    var hasOnlyFinished: Bool { ring.count == finishedInBatches }

    /// Unfinished operations, barriers not counted.
    var operationCount: Int { ring.count - barriers.count - finishedInBatches }

    /// The unfinished operations in the order in which they were added.
    func operations(includingBarriers: Bool = false) -> [Operation] {
        var operations: [Operation] = []
        operations.reserveCapacity(ring.count)
        ring.forEach { _, operation in
            let operation = operation.takeUnretainedValue()
            let word = operation.status
            guard word.phase != .finished, includingBarriers || !word.has(.barrier) else { return }
            operations.append(operation)
        }
        return operations
    }

    // MARK: Adding

    /// Gives an operation its place. The ring keeps a reference.
    ///
    /// Nil if it is in a queue, or was started, already.
    @inline(__always)
    mutating func add(
        _ operation: Operation, to queue: OperationQueue, reserved: Bool = false
    ) -> LifecycleState? {
        let rank = ignoresQuality ? 0 : qualityRank
        guard
            let word = operation.update({
                $0.enqueued(reserved: reserved, qualityRank: rank)
            })?.after
        else { return nil }
        if ring.isFull { makeRoom() }
        let reference = Unmanaged.passRetained(operation)
        let place = ring.append(reference)
        operation.sequence.store(place, ordering: .relaxed)
        // From here on others may go from the operation to the queue.
        operation.queueReference.store(.passUnretained(queue), ordering: .releasing)
        if notifiesEach { record(arrivalOf: operation) }
        if !word.has(.fastPath) {
            unbatchableCount += 1
            if word.has(.barrier) {
                unsafeDowncast(operation, to: Barrier.self).ticket = barriers.append(reference)
                barriersAdded += 1
                recallBatches()
            }
        }
        if word.has(.rescheduled) { takeOver(operation, at: place) }
        if word.phase == .queued { file(operation, place: place) }
        promoteAhead(of: place, to: word.quality.effectiveRank)
        return word
    }

    private mutating func makeRoom() {
        var places: [(old: Int, new: Int)] = []
        ring.makeRoom { operation, old, new in
            operation._withUnsafeGuaranteedRef { $0.sequence.store(new, ordering: .relaxed) }
            places.append((old, new))
        }
        guard !places.isEmpty else { return }
        qualityMarks.renumber(places, tail: ring.tail)
        renumber(Renumbering(places: places, tail: ring.tail))
    }

    // MARK: Ready lists

    /// Brings an operation that is *filed* to its lane, or, if that is no longer right, back.
    mutating func file(_ operation: Operation) { file(operation, place: operation.place) }

    @inline(__always)
    mutating func file(_ operation: Operation, place: Int) {
        if isStrict { fifoCursor = min(fifoCursor, place) }
        var word = operation.status
        while !word.isReady, !word.has(.insists) {
            // Back to waiting; unless its last dependency has gone meanwhile, of which nobody else knows.
            if operation.update({ $0.removedFromReady() }) != nil { return }
            word = operation.status
        }
        guard word.phase == .queued else { return }
        if word.has(.cancelled), !operation.needsSlotToLeave(word) {
            ring.setReady(place, lane: OperationRing.cancelledLane)
            return
        }
        if !usesDefaultOrder || word.has(.rescheduled) {
            fileOutOfOrder(place, word: word)
        } else {
            ring.setReady(place, lane: word.lane)
        }
        readyCount += 1
        if word.lane > lowestBatchedLane, !isStrict { recallBatches() }
    }

    /// Takes an operation off its lane; false if it was in none: somebody has it in hand.
    mutating func clear(_ place: Int, word: LifecycleState) -> Bool {
        if ring.isReady(place, lane: word.lane) {
            ring.clearReady(place, lane: word.lane)
        } else if !clearOutOfOrder(place, lane: word.lane) {
            return false
        }
        readyCount -= 1
        return true
    }

    /// A dependency was added to an operation that is *filed*.
    mutating func unfile(_ operation: Operation) {
        let word = operation.status
        guard word.phase == .queued, !word.isReady, clear(operation.place, word: word) else {
            return
        }
        file(operation)
    }

    mutating func changePriority(of operation: Operation, to priority: Operation.QueuePriority) {
        let place = operation.place
        let wasReady = clear(place, word: operation.status)
        operation.update { word in
            word.priority = priority
            word.insert(.rescheduled)
            return true
        }
        rescheduled.move(place, number: ring.tail)
        if wasReady {
            file(operation)
        } else if operation.status.phase == .queued {
            // A batch may hold it, in the place that it had by its old priority.
            recallBatches()
        }
    }

    // MARK: Leaving

    struct Departure {
        /// True if the queue has become empty, and need not keep itself any more.
        var isEmpty = false
        var waiters: [Waiter] = []
        /// Operations whose override of `isReady` is to be asked again; retained.
        var hesitating: [Reference] = []
    }

    /// What follows from some having left. A batch of which everything was cut off leaves nothing, and must
    /// not be taken for the end of those that emptied the queue.
    private mutating func departure(leaving count: Int, usesFastPath: Bool = true) -> Departure {
        var departure = Departure()
        if ring.count == 0, count > 0 {
            departure.isEmpty = true
            idleCount += 1
            departure.waiters = waiters.takeAll()
        }
        if room.isWaitedFor { admit(with: &departure) }
        if unbatchableCount > 0 || !usesFastPath { departure.hesitating = takeHesitating() }
        return departure
    }

    /// The worker has come to the end of its batch: what it ran leaves.
    mutating func retire(_ batch: Batch, nanoseconds: UInt64) -> Departure {
        let taken = batch.taken
        for operation in taken {
            operation._withUnsafeGuaranteedRef { operation in
                remove(operation)
            }
        }
        learn(from: batch, nanoseconds: nanoseconds)
        unregister(batch)
        return departure(leaving: taken.count)
    }

    /// As ``fold(_:nanoseconds:)``, and at once claims the next work for the same worker, unless it has to
    /// look for others.
    ///
    /// - Parameter pending: how many references to queues, and blocks, wait for a worker.
    mutating func retireAndClaimNext(
        _ batch: Batch, for next: Batch, offered urgency: Urgency, nanoseconds: UInt64, cores: Int,
        pending: Int
    ) -> (Departure, Work) {
        let departure = retire(batch, nanoseconds: nanoseconds)
        // What was added since is for others if the queue was given another executor before this.
        guard executor.isSame(as: .workers) else { return (departure, .none) }
        // One of those that wait may be our own: then it is for another worker.
        guard pending <= offered.count, isRunnable else { return (departure, .none) }
        return (departure, claim(next, atLeast: urgency, cores: cores))
    }

    private mutating func unregister(_ batch: Batch) {
        if batch.holdsSlot { running -= 1 }
        if let index = batches.firstIndex(where: { $0 === batch }) {
            batches.swapAt(index, batches.count - 1)
            batches.removeLast()
        }
        if batches.isEmpty { lowestBatchedLane = Operation.QueuePriority.count }
    }

    @inline(__always)
    private mutating func remove(_ operation: Operation) {
        let place = operation.place
        if notifiesEach { record(departureOf: operation) }
        if !rescheduled.isEmpty { rescheduled.forget(place) }
        ring.remove(place)
    }

    /// A single operation has finished, by whatever way.
    mutating func leave(_ operation: Operation, gaveBackSlot: Bool) -> Departure {
        let (place, word) = (operation.place, operation.status)
        if !clear(place, word: word) { ring.clearReady(place, lane: OperationRing.cancelledLane) }
        remove(operation)
        operation.sequence.store(OperationRing.nowhere, ordering: .releasing)
        if gaveBackSlot { running -= 1 }
        if !word.has(.fastPath) { unbatchableCount -= 1 }
        if word.has(.barrier) {
            barriers.remove(unsafeDowncast(operation, to: Barrier.self).ticket)
        }
        return departure(leaving: 1, usesFastPath: word.has(.fastPath))
    }

    /// The operation that the worker took last has a dependency again: it goes back, and the rest too.
    mutating func putBackLast(_ batch: Batch) {
        giveBackRest(of: batch)
        batch.dropLast()._withUnsafeGuaranteedRef { file($0) }
    }

    /// The operation that the worker took last is about to finish. If somebody has to be told of each that
    /// leaves, it leaves by itself and not with the batch, and is retained for the worker.
    mutating func detachLast(from batch: Batch) -> Reference? {
        guard notifiesEach else { return nil }
        giveBackRest(of: batch)
        let operation = batch.dropLast().retain()
        operation._withUnsafeGuaranteedRef { _ = $0.update { $0.detachedFromBatch() } }
        return operation
    }

    /// Gives back what the worker has not begun, and lets what has finished leave; returns that, to be let go
    /// of without the lock, and whom to wake then.
    mutating func cut(_ batch: Batch) -> (finished: [Reference], admitted: [Waiter]) {
        guard batches.contains(where: { $0 === batch }) else { return ([], []) }
        giveBackRest(of: batch)
        let finished = batch.foldFinished()
        for operation in finished { operation._withUnsafeGuaranteedRef { remove($0) } }
        return (finished, room.isWaitedFor ? admitted() : [])
    }

    mutating func giveBackRest(of batch: Batch) {
        var rest: [Reference] = []
        batch.cutRest { rest.append($0) }
        for operation in rest { operation._withUnsafeGuaranteedRef { file($0) } }
    }

    /// A claimed operation turned out not to be ready.
    mutating func slotReturned() {
        running -= 1
        // It is not past any more.
        fifoCursor = ring.head
    }

    // MARK: Changes

    enum Change {
        case suspended(Bool)
        case width(Int)
    }

    mutating func changed(_ change: Change) {
        switch change {
        case .suspended(let isSuspended):
            self.isSuspended = isSuspended
            observations?.record(QueueProperties.isSuspended, isSuspended)
        case .width(let width):
            self.width = width
            if isStrict { giveBackAll() }
            observations?.record(QueueProperties.width, width)
        }
        hasChanges = observations != nil
        recallBatches()
    }

    /// False while there are operations.
    mutating func executorChanged(to executor: QueueExecutor) -> Bool {
        guard ring.count == barriers.count + finishedInBatches, barriers.isEmpty else {
            return false
        }
        self.executor = executor
        // Who comes with an older reference, or with a batch, takes nothing more.
        offered = OfferedUrgencies()
        recallBatches()
        if case .dispatch = executor { ignoresQuality = true } else { ignoresQuality = false }
        return true
    }

    /// False if an operation may run at once that became ready only now: nothing is before it.
    var hasCompetingWork: Bool {
        readyCount > 0 || isSuspended || !barriers.isEmpty || givesEach || isStrict || room.isUsed
    }

    /// What lies in batches has to be considered anew.
    mutating func recallBatches() {
        if !batches.isEmpty { recallEpoch &+= 1 }
    }

    /// Whether a thread waits for the queue to be empty, and it has not been since.
    func isAwaited(by gate: Latch) -> Bool {
        waiters.elements.contains {
            if case .thread(let other) = $0 { other === gate } else { false }
        }
    }

    /// Nil, and the waiter is not taken, if the queue has become empty since it had done so that many times;
    /// if nil, if it is empty.
    mutating func idleWaiterArrived(
        after count: UInt64?, _ waiter: Waiter
    ) -> TicketList<Waiter>.Ticket? {
        if let count, count != idleCount { return nil }
        if count == nil, ring.count == 0 { return nil }
        return waiters.append(waiter)
    }

    /// Nil if there is nothing to wait for.
    mutating func waiterArrived(_ waiter: Waiter) -> TicketList<Waiter>.Ticket? {
        ring.count > 0 ? waiters.append(waiter) : nil
    }

    /// It gave up.
    mutating func waiterLeft(_ ticket: TicketList<Waiter>.Ticket) { waiters.remove(ticket) }
}
