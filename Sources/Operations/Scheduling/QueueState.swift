import Synchronization

// The containers of a queue carry references to operations, and never look into them.
typealias OperationRing = Ring<Unmanaged<Operation>>
typealias Batch = ClaimedBatch<Unmanaged<Operation>>
typealias AdmittedOperations = AdmittedReferences<Operation>

/// The operations of a queue, and the choice of the operation to start next.
///
/// The queue's lock guards this value. Its methods are events. A method returns what the caller
/// must do after it has released the lock. The methods access operations through atomics and take
/// no operation's lock.
struct QueueState: ~Copyable {
    typealias Reference = Unmanaged<Operation>

    var ring = OperationRing()
    /// Blocks without operations. While there are unfinished ones, the ring is empty.
    var bare = BareBlocks()
    var rescheduled = RescheduledOperations()
    /// The barriers that have not finished, in their order.
    var barriers = TicketList<Reference>()
    /// The number of barriers that were ever added.
    var barriersAdded = 0
    /// The batches of workers. They hold claimed operations.
    var batches: [Batch] = []
    private(set) var waiters = TicketList<Waiter>()
    /// The number of operations in the ready lists of the priorities, and of pending bare blocks.
    var readyCount = 0
    /// The slots of the width that are taken, by batches and by single operations.
    var running = 0
    /// The number of operations that are not on the fast path. While there are any, no batch holds
    /// more than one operation.
    var unbatchableCount = 0
    /// The order of ready operations; changed by ``arrange(order:ageingSpan:)``.
    var order = ReadyOrder.priority
    var capacityQueue = CapacityQueue()
    /// The urgencies of the references to this queue that its executor holds.
    var offered = OfferedUrgencies()
    /// The lowest lane from which a batch may hold operations that have not begun.
    var lowestBatchedLane = PriorityLanes.count
    /// The typical duration of an operation of this queue, learned from the last batches.
    var typicalNanoseconds = Self.unknownNanoseconds
    /// Whether bodies of the last batch were suspended. Each suspended body takes a slot.
    var bodiesSuspend = false
    /// A number that rises whenever batches must return the operations that have not begun.
    private(set) var recallEpoch: UInt32 = 0
    /// The operations that only an override of `isReady` holds back, retained; see
    /// `recordHesitation`.
    var hesitating = FIFO<Reference>()
    /// The number of events so far at which the `isReady` of hesitating operations is read again.
    var eventNumber = 0
    /// The number of times that the queue has become empty.
    private(set) var idleCount: UInt64 = 0

    /// The recorder of changes; set when the queue is first observed.
    var recorder: (any QueueRecorder)?
    /// Whether observers must be notified of each operation that arrives or leaves. While this is
    /// set there are no batches, so that each change is reported when it happens.
    var notifiesEach = false
    /// The operations that were claimed when they were given their permits, retained for the
    /// workers; see `grant`.
    var admitted = AdmittedOperations()
    /// Whether changes were recorded that observers must be notified of after the lock is released.
    var hasChanges = false
    /// The operations of batches that had finished when `notifiesEach` was set.
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
    }

    /// Whether operations are claimed one by one: for observers of each, or for a driver.
    var claimsIndividually: Bool {
        @inline(__always) get {
            if case .driver = executor { return true }
            return notifiesEach
        }
    }

    /// Whether an underlying dispatch queue decides about the threads. If so, there are no
    /// promotions here.
    var ignoresQuality: Bool {
        @inline(__always) get { if case .dispatch = executor { true } else { false } }
    }

    /// The rank of the queue's quality of service.
    var qualityRank = 0
    var qualityMarks = QualityMarks()
    /// Returns the time in nanoseconds, in place of the monotonic clock.
    var clock: (@Sendable () -> Int64)? { didSet { latestTime = 0 } }
    /// The latest time that the clock has shown to ``now()``.
    var latestTime: Int64 = 0

    /// The operations that the caller must promote after it has released the lock.
    var promotions: [Promotion]?

    // MARK: Queries

    var isEmpty: Bool { ring.count == 0 && bare.count == 0 }

    /// The place that the next operation will get.
    var end: Int { ring.tail }

    var hasFreeSlot: Bool { width < 0 || running < width }

    /// The place of the first barrier. Nothing behind it is eligible.
    var barrierPlace: Int {
        @inline(__always) get {
            if barriers.isEmpty { return Int.max }
            return barriers.first?._withUnsafeGuaranteedRef { $0.place } ?? Int.max
        }
    }

    var isRunnable: Bool {
        mutating get {
            if ring.readyCount(OperationRing.cancelledLane) > 0 || !admitted.isEmpty { return true }
            guard !isSuspended, readyCount > 0, hasFreeSlot else { return false }
            return (barriers.isEmpty && !order.isStrict) || best() != nil
        }
    }

    /// The number of operations that have finished and whose batch is not retired yet.
    private var finishedInBatches: Int {
        batches.lazy.flatMap(\.taken).count { operation in
            operation._withUnsafeGuaranteedRef { $0.status.phase == .finished }
        }
    }

    /// Whether every operation in the queue has finished and leaves when its batch is retired.
    var hasOnlyFinished: Bool { ring.count == finishedInBatches && bare.unfinishedCount == 0 }

    /// The number of unfinished operations, not counting barriers.
    var operationCount: Int {
        ring.count - barriers.count - finishedInBatches + bare.unfinishedCount
    }

    /// The unfinished operations in the order in which they were added.
    func operations(includingBarriers: Bool = false) -> [Operation] {
        var operations: [Operation] = []
        operations.reserveCapacity(ring.count)
        ring.forEach { _, operation in
            let operation = operation.takeUnretainedValue()
            let state = operation.status
            guard state.phase != .finished, includingBarriers || !state.has(.barrier) else {
                return
            }
            operations.append(operation)
        }
        return operations
    }

    /// Returns those of the oldest operations that wait for dependencies, and the number of places
    /// that were looked at, at most `limit`.
    func waitingOperations(inFirst limit: Int) -> (operations: [Operation], visited: Int) {
        var operations: [Operation] = []
        let places = ring.head..<min(ring.tail, ring.head + limit)
        for place in places {
            guard let reference = ring[place] else { continue }
            let isWaiting = reference._withUnsafeGuaranteedRef { operation in
                let state = operation.status
                return state.unfinishedDependencies > 0 && state.phase != .finished
            }
            if isWaiting { operations.append(reference.takeUnretainedValue()) }
        }
        return (operations, places.count)
    }

    // MARK: Adding

    /// Adds an operation at the end of the ring, which keeps a reference to it.
    ///
    /// - Parameter isRetained: whether the ring takes over a reference of the caller.
    /// - Returns: the operation's new state, or nil if the operation is in a queue already, was
    ///   started already, or is not reserved as `reserved` says.
    @inline(__always)
    mutating func add(
        _ operation: Operation, to queue: OperationQueue, reserved: Bool = false,
        isRetained: Bool = false
    ) -> LifecycleState? {
        if bare.count > 0 { nameBlocks() }
        let rank = ignoresQuality ? 0 : qualityRank
        guard
            let state = operation.exchange({
                $0.enqueued(reserved: reserved, qualityRank: rank)
            })?.after
        else { return nil }
        if !ring.hasSpace(for: 1) { makeSpace(for: 1) }
        let reference = Unmanaged.passUnretained(operation)
        if !isRetained { _ = reference.retain() }
        let place = ring.append(reference)
        operation.sequence.store(place, ordering: .relaxed)
        // From here on other threads can reach the queue from the operation.
        operation.queueReference.store(.passUnretained(queue), ordering: .releasing)
        if notifiesEach { record(arrivalOf: operation) }
        if !state.has(.fastPath) {
            unbatchableCount += 1
            if state.has(.barrier) {
                unsafeDowncast(operation, to: Barrier.self).ticket = barriers.append(reference)
                barriersAdded += 1
                recallBatches()
            }
        }
        if state.has(.rescheduled) { takeOver(operation, at: place) }
        if state.phase == .queued { insertReady(operation, place: place) }
        promoteAhead(of: place, to: state.quality.effectiveRank)
        return state
    }

    /// Makes sure that so many operations can be added without another allocation.
    mutating func makeSpace(for additions: Int) {
        guard !ring.hasSpace(for: additions) else { return }
        var places: [(old: Int, new: Int)] = []
        ring.growOrCompact(for: additions) { operation, old, new in
            operation._withUnsafeGuaranteedRef { $0.sequence.store(new, ordering: .relaxed) }
            places.append((old, new))
        }
        guard !places.isEmpty else { return }
        qualityMarks.renumber(places, tail: ring.tail)
        renumber(Renumbering(places: places, tail: ring.tail))
    }

    // MARK: Ready lists

    /// Puts a `queued` operation into the ready list of its lane, or moves it back to `waiting` if
    /// it is no longer ready.
    mutating func insertReady(_ operation: Operation) {
        insertReady(operation, place: operation.place)
    }

    /// - Parameter readySince: the time since which the operation has been ready without a break;
    ///   nil for an operation that has become ready now. Only ageing uses the time.
    @inline(__always)
    mutating func insertReady(_ operation: Operation, place: Int, readySince: Int64? = nil) {
        if order.isStrict { order.moveBack(to: place) }
        var state = operation.status
        while !state.isReady, !state.has(.insists) {
            // The operation goes back to `waiting`. If its last dependency has finished meanwhile,
            // the event does not apply, and the loop goes on because no other thread knows of it.
            if operation.exchange({ $0.removedFromReady() }) != nil { return }
            state = operation.status
        }
        guard state.phase == .queued else { return }
        if state.has(.cancelled), !operation.needsSlotToLeave(state) {
            ring.setReady(place, lane: OperationRing.cancelledLane)
            return
        }
        if !order.isDefault || state.has(.rescheduled) {
            insertReadyOutOfOrder(place, state: state, readySince: readySince)
        } else {
            ring.setReady(place, lane: state.lane)
        }
        readyCount += 1
        if state.lane > lowestBatchedLane, !order.isStrict { recallBatches() }
    }

    /// Removes an operation from its ready list. Returns false if it was in none, because a thread
    /// or a batch holds it.
    mutating func removeReady(_ place: Int, state: LifecycleState) -> Bool {
        if ring.isReady(place, lane: state.lane) {
            ring.clearReady(place, lane: state.lane)
        } else if !removeReadyOutOfOrder(place) {
            return false
        }
        readyCount -= 1
        return true
    }

    /// Reconsiders a `queued` operation after a dependency was added to it.
    mutating func reconsiderReady(_ operation: Operation) {
        let state = operation.status
        guard state.phase == .queued, !state.isReady, removeReady(operation.place, state: state)
        else {
            return
        }
        insertReady(operation)
    }

    mutating func changePriority(of operation: Operation, to priority: Operation.QueuePriority) {
        let place = operation.place
        let wasReady = removeReady(place, state: operation.status)
        _ = operation.exchange { $0.priorityChanged(toLane: priority.lane, inQueue: true) }
        rescheduled.startTurnAnew(at: place, number: ring.tail)
        if wasReady {
            insertReady(operation)
        } else if operation.status.phase == .queued {
            // A batch may hold the operation in the turn that it had by its old priority.
            recallBatches()
        }
    }

    // MARK: Leaving

    struct Departure {
        /// Whether the queue has become empty, so that it no longer needs to retain itself.
        var isEmpty = false
        var waiters: [Waiter] = []
        /// The operations whose override of `isReady` must be read again; retained.
        var hesitating: [Reference] = []
        /// Whether operations are ready.
        var leavesReady = false
    }

    /// Returns what must be done after `count` operations have left. A batch whose operations were
    /// all reclaimed leaves with none. Such a batch must not be mistaken for the one that emptied
    /// the queue.
    mutating func departure(leaving count: Int, usesFastPath: Bool = true) -> Departure {
        var departure = Departure()
        departure.leavesReady = readyCount > 0
        if isEmpty, count > 0 {
            departure.isEmpty = true
            ring.shrink()
            bare.shrink()
            idleCount += 1
            departure.waiters = waiters.takeAll()
        }
        if capacityQueue.isWaitedFor { admit(with: &departure) }
        if unbatchableCount > 0 || !usesFastPath { departure.hesitating = takeHesitating() }
        return departure
    }

    /// Retires a batch that the worker has run to its end. The operations that the batch ran leave
    /// the queue.
    ///
    /// - Parameter keepsSlot: whether the batch keeps its slot if another operation is ready.
    mutating func retire(_ batch: Batch, nanoseconds: UInt64, keepsSlot: Bool = false) -> Departure
    {
        let taken = batch.taken
        for operation in taken {
            operation._withUnsafeGuaranteedRef { operation in
                remove(operation)
            }
        }
        if !batch.hasMisleadingTime {
            learn(batch.begunCount, nanoseconds: nanoseconds, suspends: batch.hasSuspended)
        }
        unregister(batch)
        insertSuccessors(of: batch)
        if !keepsSlot || readyCount == 0, batch.handOverSlot() { running -= 1 }
        return departure(leaving: taken.count)
    }

    /// Claims the next work for a worker whose batch was retired, unless the worker must look for
    /// other work.
    ///
    /// - Parameter pending: the number of references to queues, and of blocks, that wait for a
    ///   worker.
    @inline(__always)
    mutating func claimNext(
        _ next: Batch, offered urgency: Urgency, cores: Int, pending: Int
    ) -> Work {
        // If the queue was given another executor before this, operations added since are for that
        // executor.
        guard executor.isSame(as: .workers) else { return .none }
        // One of the pending items may be a reference to this queue. Another worker takes that one.
        guard pending <= offered.count, isRunnable else { return .none }
        return claim(next, offered: urgency, cores: cores)
    }

    /// Returns the slot of a batch that was retired and has kept it.
    mutating func returnSlot(of batch: Batch) { if batch.handOverSlot() { running -= 1 } }

    private mutating func unregister(_ batch: Batch) {
        if let index = batches.firstIndex(where: { $0 === batch }) {
            batches.swapAt(index, batches.count - 1)
            batches.removeLast()
        }
        if batches.isEmpty { lowestBatchedLane = PriorityLanes.count }
    }

    @inline(__always)
    private mutating func remove(_ operation: Operation) {
        let place = operation.place
        if notifiesEach { record(departureOf: operation) }
        if !rescheduled.isEmpty { rescheduled.forget(place) }
        ring.remove(place)
    }

    /// Removes a single operation that has finished, in whatever way it finished.
    mutating func leave(_ operation: Operation, releasesSlot: Bool) -> Departure {
        let (place, state) = (operation.place, operation.status)
        if !removeReady(place, state: state) {
            ring.clearReady(place, lane: OperationRing.cancelledLane)
        }
        remove(operation)
        operation.sequence.store(OperationRing.nowhere, ordering: .releasing)
        if releasesSlot { running -= 1 }
        if !state.has(.fastPath) { unbatchableCount -= 1 }
        if state.has(.barrier) {
            barriers.remove(unsafeDowncast(operation, to: Barrier.self).ticket)
        }
        return departure(leaving: 1, usesFastPath: state.has(.fastPath))
    }

    /// Takes back the operation that the worker took last, because it has a dependency again, and
    /// the rest as well.
    mutating func putBackLast(_ batch: Batch) {
        returnRest(of: batch)
        batch.dropLast()._withUnsafeGuaranteedRef { reinsertReady($0) }
    }

    /// Detaches the operation that the worker took last and is about to finish, if observers must
    /// be notified of each operation that leaves. The operation then leaves by itself and not with
    /// the batch, and is retained for the worker.
    mutating func detachLast(from batch: Batch) -> Reference? {
        guard notifiesEach else { return nil }
        returnRest(of: batch)
        let operation = batch.dropLast().retain()
        operation._withUnsafeGuaranteedRef { _ = $0.exchange { $0.detachedFromBatch() } }
        return operation
    }

    /// Takes back the operations that the worker has not begun, and removes the finished ones.
    /// After it has released the lock, the caller releases the finished ones and wakes the admitted
    /// waiters.
    mutating func reclaimRest(of batch: Batch) -> (finished: [Reference], admitted: [Waiter]) {
        guard batches.contains(where: { $0 === batch }) else { return ([], []) }
        returnRest(of: batch)
        let finished = batch.removeFinished()
        for operation in finished { operation._withUnsafeGuaranteedRef { remove($0) } }
        return (finished, capacityQueue.isWaitedFor ? admittedWaiters() : [])
    }

    mutating func returnRest(of batch: Batch) {
        var rest: [Reference] = []
        batch.reclaimRest { rest.append($0) }
        for operation in rest { operation._withUnsafeGuaranteedRef { reinsertReady($0) } }
        insertSuccessors(of: batch)
    }

    /// Puts the operations that became ready during the batch into their ready lists.
    @inline(__always)
    private mutating func insertSuccessors(of batch: Batch) {
        batch.takeSuccessors { $0._withUnsafeGuaranteedRef { insertReady($0) } }
    }

    /// Puts an operation that was claimed and has not begun back into its ready list. If the
    /// operation is still ready, it keeps the time since which it has been ready.
    private mutating func reinsertReady(_ operation: Operation) {
        let place = operation.place
        insertReady(operation, place: place, readySince: rescheduled.readySince(place))
    }

    /// Returns the slot of a claimed operation that turned out not to be ready.
    mutating func slotReturned() {
        running -= 1
        // The operation holds back others again, so the cursor starts over.
        order.moveBack(to: ring.head)
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
            recorder?.record(.isSuspended(isSuspended))
        case .width(let width):
            self.width = width
            if order.isStrict { returnAllRests() }
            recorder?.record(.width(width))
        }
        hasChanges = recorder != nil
        recallBatches()
    }

    /// Changes the executor; returns false while there are operations.
    mutating func executorChanged(to executor: QueueExecutor) -> Bool {
        guard barriers.isEmpty, hasOnlyFinished else { return false }
        self.executor = executor
        // A thread that comes with an older reference, or with a batch, claims nothing more.
        offered = OfferedUrgencies()
        recallBatches()
        return true
    }

    /// Whether an operation that has only now become ready must wait its turn. If not, it may run
    /// at once.
    var hasCompetingWork: Bool {
        readyCount > 0 || isSuspended || !barriers.isEmpty || claimsIndividually || order.isStrict
            || capacityQueue.isUsed
    }

    /// Recalls the operations in batches that have not begun, because the order must be considered
    /// anew.
    mutating func recallBatches() {
        if !batches.isEmpty || !bare.batches.isEmpty { recallEpoch &+= 1 }
    }

    /// Whether a thread waits at `latch` for the queue to become empty, and the queue has not been
    /// empty since.
    func isAwaited(by latch: Latch) -> Bool {
        waiters.elements.contains {
            if case .thread(let other) = $0 { other === latch } else { false }
        }
    }

    /// Registers a waiter for the next time the queue becomes empty, and returns its ticket.
    ///
    /// - Parameter count: the value of `idleCount` that the caller has seen; nil to wait only if
    ///   the queue is not empty now.
    /// - Returns: nil if the waiter was not registered: the queue has become empty since it had
    ///   done so `count` times, or, if `count` is nil, it is empty.
    mutating func waiterArrived(
        _ waiter: Waiter, after count: UInt64? = nil
    ) -> TicketList<Waiter>.Ticket? {
        if count.map({ $0 != idleCount }) ?? isEmpty { return nil }
        return waiters.append(waiter)
    }

    /// Removes a waiter that gave up.
    mutating func waiterLeft(_ ticket: TicketList<Waiter>.Ticket) { waiters.remove(ticket) }
}
