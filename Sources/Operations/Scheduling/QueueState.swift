import OperationsRuntime
import Synchronization

typealias OperationRing = Ring<Entry>
typealias AdmittedOperations = AdmittedReferences<Operation>

/// The operations of a queue, and the choice of the operation to start next.
///
/// The queue's lock guards this value. Its methods are events. A method returns what the caller
/// must do after it has released the lock. The methods access operations through atomics and take
/// no operation's lock.
struct QueueState: ~Copyable {
    typealias Reference = Unmanaged<Operation>

    /// The entries that have not left. The entry of a claimed block keeps its bits here, but only
    /// the claim may use them.
    var ring = OperationRing()
    /// The queue itself; nil only in tests of this value.
    var queue: Unmanaged<OperationQueue>?
    /// The barriers that have not finished, in their order.
    var barriers = TicketList<Reference>()
    /// The number of barriers that were ever added.
    var barriersAdded = 0
    /// The slots of the width, and the claims that take them.
    var slots: QueueSlots
    private(set) var waiters = TicketList<Waiter>()
    /// What is ready, and in which order it starts.
    var ready = ReadyLists()
    /// The number of operations that are not on the fast path. Each of them is claimed by itself.
    var singlyClaimedCount = 0
    /// Whether a block that is added now may stay without an operation.
    var takesBlocks = true
    /// What limits the number of operations; nil if nothing does.
    var room: QueueRoom?
    /// The records for observers of the queue.
    var records = QueueRecords()
    /// The qualities of service.
    var qualities = QueueQualities()
    /// What is left to do after this hold of the lock; nil for nothing.
    private var effects: QueueEffects?
    /// The number of times that the queue has become empty.
    private(set) var idleCount: UInt64 = 0

    /// The number of blocks that were dropped and have not left the queue yet. `operationCount` no
    /// longer counts them.
    var droppedCount = 0
    private(set) var executor: QueueExecutor { didSet { decideAboutBlocks() } }

    init(
        executor: QueueExecutor = .workers,
        width: Int = OperationQueue.defaultMaxConcurrentOperationCount
    ) {
        self.executor = executor
        slots = QueueSlots(width: width)
        decideAboutBlocks()
    }

    /// Whether operations are claimed one by one: for observers of each, or for a driver.
    var claimsIndividually: Bool {
        @inline(__always) get {
            if case .driver = executor { return true }
            return records.notifiesEach
        }
    }

    /// Whether an underlying dispatch queue decides about the threads. If so, there are no
    /// promotions here.
    var ignoresQuality: Bool {
        @inline(__always) get { if case .dispatch = executor { true } else { false } }
    }

    // MARK: Queries

    /// Whether operations were cancelled that only have to leave.
    var hasCancelled: Bool {
        @inline(__always) get { ring.readyCount(OperationRing.cancelledLane) > 0 }
    }

    var isEmpty: Bool { ring.count == 0 }

    /// The place that the next operation will get.
    var end: Int { ring.tail }

    /// The place of the first barrier. Nothing behind it is eligible.
    var barrierPlace: Int {
        @inline(__always) get {
            if barriers.isEmpty { return Int.max }
            return barriers.first?._withUnsafeGuaranteedRef { $0.place } ?? Int.max
        }
    }

    var isRunnable: Bool {
        mutating get {
            if hasCancelled || !ready.admitted.isEmpty { return true }
            guard ready.hasAny, slots.mayBegin else { return false }
            return !ready.sources.isEmpty || !ordersStarts || best() != nil
        }
    }

    /// Whether every entry in the queue has ended and leaves when its claim is retired.
    var hasOnlyFinished: Bool { ring.count == slots.endedInClaims + droppedCount }

    /// The number of unfinished operations and blocks, not counting barriers.
    var operationCount: Int { ring.count - barriers.count - slots.endedInClaims - droppedCount }

    /// The unfinished operations in the order in which they were added. Blocks are left out: the
    /// caller makes operations for them first (`materializeAll`).
    func operations(includingBarriers: Bool = false) -> [Operation] {
        var operations: [Operation] = []
        operations.reserveCapacity(ring.count)
        ring.forEach { _, entry in
            guard let operation = entry.operation?.takeUnretainedValue() else { return }
            let state = operation.status
            guard state.phase != .finished, includingBarriers || !state.has(.barrier) else {
                return
            }
            operations.append(operation)
        }
        return operations
    }

    /// Returns those of the oldest operations that are in a state, and the number of places that
    /// were looked at, at most `limit`.
    func operations(
        inFirst limit: Int, where isWanted: (LifecycleState) -> Bool
    ) -> (operations: [Operation], visited: Int) {
        var operations: [Operation] = []
        let places = ring.head..<min(ring.tail, ring.head + limit)
        for place in places {
            guard let reference = ring[place]?.operation,
                reference._withUnsafeGuaranteedRef({ isWanted($0.status) })
            else { continue }
            operations.append(reference.takeUnretainedValue())
        }
        return (operations, places.count)
    }

    // MARK: Adding

    /// Adds an operation at the end of the ring, which keeps a reference to it.
    ///
    /// - Parameters:
    ///   - isRetained: whether the ring takes over a reference of the caller.
    ///   - free: a place that is not in use; nil for one at the end.
    /// - Returns: the operation's new state, or nil if the operation is in a queue already, was
    ///   started already, or is not reserved as `reserved` says.
    @inline(__always)
    mutating func add(
        _ operation: Operation, to queue: OperationQueue, reserved: Bool = false,
        isRetained: Bool = false, at free: Int? = nil
    ) -> LifecycleState? {
        let rank = ignoresQuality ? 0 : qualities.rank
        guard
            let state = operation.exchange({
                $0.enqueued(reserved: reserved, qualityRank: rank)
            })?.after
        else { return nil }
        let reference = Unmanaged.passUnretained(operation)
        if !isRetained { _ = reference.retain() }
        let place: Int
        if let free {
            // No entry may move before all free places are filled.
            ring.fill(free, with: .operation(reference))
            place = free
        } else {
            if !ring.hasSpace(for: 1) { makeSpace(for: 1) }
            place = ring.append(.operation(reference))
        }
        operation.sequence.store(place, ordering: .relaxed)
        // From here on other threads can reach the queue from the operation.
        operation.queueReference.store(.passUnretained(queue), ordering: .releasing)
        if records.notifiesEach { notify(records.arrives(operation)) }
        if !state.has(.fastPath) {
            singlyClaimedCount += 1
            if state.has(.barrier) {
                unsafeDowncast(operation, to: Barrier.self).ticket = barriers.append(reference)
                barriersAdded += 1
                slots.recall()
            }
        }
        if state.has(.rescheduled) { takeOver(operation, at: place) }
        if state.phase == .queued { insertReady(operation, place: place) }
        promoteAhead(of: place, to: state.quality.effectiveRank)
        if room != nil { arrivedInRoom(operation, isPart: free != nil) }
        return state
    }

    @inline(never)
    private mutating func arrivedInRoom(_ operation: Operation, isPart: Bool) {
        room?.arrived(operation, isPart: isPart, in: &self)
    }

    /// Makes sure that so many operations can be added without another allocation.
    mutating func makeSpace(for additions: Int) {
        guard !ring.hasSpace(for: additions) else { return }
        moveEntries { ring, move in ring.growOrCompact(for: additions, move: move) }
    }

    /// Makes places behind an operation, before all that was added after it. Returns the first.
    ///
    /// - Complexity: O(places).
    @inline(never)
    mutating func makePlaces(_ count: Int, behind operation: Operation) -> Int {
        let place = operation.place
        moveEntries { ring, move in ring.makePlaces(count, behind: place, move: move) }
        return place + 1
    }

    /// Updates everything that refers to places.
    private mutating func moveEntries(
        _ body: (inout OperationRing, (Entry, Int, Int) -> Void) -> Void
    ) {
        var places: [(old: Int, new: Int)] = []
        body(&ring) { entry, old, new in
            if let operation = entry.operation {
                operation._withUnsafeGuaranteedRef { $0.sequence.store(new, ordering: .relaxed) }
            }
            places.append((old, new))
        }
        guard !places.isEmpty else { return }
        qualities.marks.renumber(places, tail: ring.tail)
        let renumbering = Renumbering(places: places, tail: ring.tail)
        for claim in slots.claims { claim.renumber { renumbering($0) } }
        ready.renumber(renumbering)
    }

    // MARK: Ready lists

    /// Puts a `queued` operation into the ready list of its lane, or moves it back to `waiting` if
    /// it is no longer ready.
    mutating func insertReady(_ operation: Operation) {
        insertReady(operation, place: operation.place)
    }

    /// - Parameter readySince: the time since which the operation has been ready without a break;
    ///   nil for an operation that has become ready now. Only aging uses the time.
    @inline(__always)
    mutating func insertReady(_ operation: Operation, place: Int, readySince: Int64? = nil) {
        if ready.order.isStrict { ready.order.moveBack(to: place) }
        var state = operation.status
        while !state.isReady, !state.has(.forced) {
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
        if !ready.order.isDefault || state.has(.rescheduled) {
            insertReadyOutOfOrder(place, state: state, readySince: readySince)
        } else {
            ring.setReady(place, lane: state.lane)
        }
        ready.count += 1
        if state.lane > slots.lowestClaimedLane, !ready.order.isStrict { slots.recall() }
    }

    /// Removes an operation from its ready list. Returns false if it was in none, because a thread
    /// or a claim holds it.
    mutating func removeReady(_ place: Int, state: LifecycleState) -> Bool {
        if ring.isReady(place, lane: state.lane) {
            ring.clearReady(place, lane: state.lane)
        } else if !removeReadyOutOfOrder(place) {
            return false
        }
        ready.count -= 1
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
        ready.rescheduled.startTurnAnew(at: place, number: ring.tail)
        if wasReady {
            insertReady(operation)
        } else if operation.status.phase == .queued {
            // A claim may hold the operation in the turn that it had by its old priority.
            slots.recall()
        }
    }

    // MARK: Leaving

    struct Departure {
        /// Whether the queue has become empty, so that it no longer needs to retain itself.
        var isEmpty = false
        var waiters: [Waiter] = []
        /// The operations whose override of `isReady` must be read again; retained.
        var declined: [Reference] = []
        /// The source whose last entry has ended. The ring keeps its operation alive.
        var endedSource: Unmanaged<EntrySource>?
        /// Whether operations are ready.
        var leavesReady = false
        /// The memory of a ring that was large. It is deallocated with the departure, without the
        /// lock, because the allocator may then put together all the small blocks that it keeps.
        var unused: RetiredRing<Entry>?

        /// Whether something waits for what is done after the operations have left.
        var hasFollowers: Bool { !waiters.isEmpty || !declined.isEmpty || endedSource != nil }
        /// Whether anything is left to do after the operations have left.
        var isDue: Bool { isEmpty || hasFollowers }

        func wakeWaiters() { for waiter in waiters { waiter.wake() } }
    }

    /// Lets `count` entries leave whose places the caller has vacated, and returns what must be
    /// done after that.
    ///
    /// A method that vacates places calls this one in the same hold of the lock: the head of the
    /// ring moves only here, and only here the queue becomes empty. Entries leave when their claim
    /// is retired or its rest is reclaimed, or by themselves. A claim whose entries were all
    /// reclaimed leaves with none. Such a claim must not be mistaken for the one that emptied the
    /// queue.
    mutating func departure(leaving count: Int, usesFastPath: Bool = true) -> Departure {
        var departure = Departure()
        ring.advanceHead()
        departure.leavesReady = ready.hasAny
        if isEmpty, count > 0 {
            departure.isEmpty = true
            departure.unused = ring.shrink()
            idleCount += 1
            departure.waiters = waiters.takeAll()
            if ready.order.hasGroups { forgetGroups() }
            if qualities.areInUse { endQualityIfUnused() }
        }
        if room != nil { admit(with: &departure) }
        if singlyClaimedCount > 0 || !usesFastPath { departure.declined = takeDeclined() }
        return departure
    }

    /// Retires a claim that the worker has run to its end. The operations that the claim ran leave
    /// the queue.
    ///
    /// - Parameter keepsSlot: whether the claim keeps its slot if another operation is ready.
    ///
    /// - Returns: nil if the block that the worker ran last was given an operation, which the
    ///   worker must end first.
    mutating func retire(
        _ claim: Claim, nanoseconds: UInt64, keepsSlot: Bool = false
    ) -> Departure? {
        if claim.isMaterialized { return nil }
        if claim.hasOpenEntries { detachOpen(in: claim) }
        var leaving = 0
        if claim.isCancelled || records.notifiesEach || !ready.rescheduled.isEmpty
            || room != nil
        {
            claim.forEachTaken { leaves($0, from: claim) }
        }
        claim.forEachTakenPlace { place, count in
            ring.vacate(place, count: count)
            leaving += count
        }
        if !claim.hasMisleadingTime, !claim.isCancelled {
            slots.pace.learn(
                claim.begunCount, nanoseconds: nanoseconds, suspends: claim.hasSuspended)
        }
        slots.unregister(claim)
        let endedSource = takeReady(of: claim)
        returnSlots(of: claim, except: keepsSlot && ready.hasAny ? 1 : 0)
        var departure = departure(leaving: leaving)
        departure.endedSource = endedSource
        return departure
    }

    /// Claims the next work for a worker whose claim was retired, unless the worker must look for
    /// other work.
    ///
    /// - Parameter pending: the number of references to queues, and of blocks, that wait for a
    ///   worker.
    @inline(__always)
    mutating func claimNext(
        _ next: Claim, offered urgency: Urgency, cores: Int, pending: Int
    ) -> Work {
        // If the queue was given another executor before this, operations added since are for that
        // executor.
        guard executor.isSame(as: .workers) else { return .none }
        // One of the pending items may be a reference to this queue. Another worker takes that one.
        guard pending <= qualities.offered.count, isRunnable else { return .none }
        return claim(next, offered: urgency, cores: cores)
    }

    /// Returns the slot of a claim that was retired and has kept it.
    mutating func returnSlot(of claim: Claim) { returnSlots(of: claim, except: 0) }

    @inline(__always)
    private mutating func returnSlots(of claim: Claim, except kept: Int) {
        while claim.slotCount > kept, claim.handOverSlot() { slots.giveBack() }
    }

    /// Records that an entry leaves. The caller then removes it from the ring.
    private mutating func leaves(_ entry: Entry, from claim: Claim) {
        if let operation = entry.operation {
            operation._withUnsafeGuaranteedRef { leaves($0) }
        } else if claim.isCancelled {
            droppedCount -= 1
        }
    }

    private mutating func leaves(_ operation: Operation) {
        if records.notifiesEach { notify(records.leaves(operation)) }
        if let room { room.leaves(operation) }
        if !ready.rescheduled.isEmpty { ready.rescheduled.forget(operation.place) }
    }

    /// Removes a single operation that has finished, in whatever way it finished.
    mutating func leave(_ operation: Operation, releasesSlot: Bool) -> Departure {
        let (place, state) = (operation.place, operation.status)
        if !removeReady(place, state: state) {
            ring.clearReady(place, lane: OperationRing.cancelledLane)
        }
        leaves(operation)
        ring.vacate(place, count: 1)
        operation.sequence.store(OperationRing.nowhere, ordering: .releasing)
        if releasesSlot { slots.giveBack() }
        if !state.has(.fastPath) { singlyClaimedCount -= 1 }
        if state.has(.barrier) {
            barriers.remove(unsafeDowncast(operation, to: Barrier.self).ticket)
        }
        return departure(leaving: 1, usesFastPath: state.has(.fastPath))
    }

    /// Takes back the operation that the worker took last, because it has a dependency again, and
    /// the rest as well.
    mutating func putBackLast(_ claim: Claim) {
        returnRest(of: claim)
        claim.takeOutLast()._withUnsafeGuaranteedRef { reinsertReady($0) }
    }

    /// Detaches the operation that the worker took last and is about to finish, if observers must
    /// be notified of each operation that leaves. The operation then leaves by itself and not with
    /// the claim, and is retained for the worker.
    mutating func detachLastIfObserved(from claim: Claim) -> Reference? {
        records.notifiesEach ? detachLast(from: claim) : nil
    }

    mutating func detachLast(from claim: Claim) -> Reference {
        returnRest(of: claim)
        let operation = claim.takeOutLast().retain()
        operation._withUnsafeGuaranteedRef { _ = $0.exchange { $0.detachedFromClaim() } }
        return operation
    }

    /// Detaches an operation whose async body has ended elsewhere, if it is still in its claim. The
    /// operation then leaves the queue by itself.
    ///
    /// The operation takes a slot with it, and gives that up when it leaves. If the claim has no
    /// slot left for its rest, and gets no other, the rest goes back before that: another worker
    /// would take the slot otherwise, and begin what is behind the rest.
    mutating func detach(_ operation: Reference, _ body: Claim.OpenBody, from claim: Claim) {
        // The operation is asked and not the claim, which may belong to another queue by now.
        if operation._withUnsafeGuaranteedRef({ $0.status.has(.claimedAlone) }) { return }
        detached(claim.takeOut(body), from: claim)
        if !claim.hasSlotForRest { addSlotOrReturnRest(of: claim) }
    }

    /// Takes back the entries that the worker has not begun, and lets the ended ones leave. They
    /// may be the last ones of the queue: the entry that the worker took last may have left by
    /// itself. After it has released the lock, the caller has a worker complete the departure and
    /// release the ended entries.
    mutating func reclaimRest(of claim: Claim) -> (ended: [Entry], departure: Departure) {
        // The monitor thread may come with the queue of an earlier claim.
        guard slots.contains(claim) else { return ([], Departure()) }
        returnRest(of: claim)
        var ended: [Entry] = []
        claim.removeEnded { entry, place in
            leaves(entry, from: claim)
            ring.vacate(place, count: 1)
            ended.append(entry)
        }
        return (ended, departure(leaving: ended.count))
    }

    /// Takes back the entries that workers have claimed and not begun.
    mutating func returnAllRests() {
        for claim in slots.claims { returnRest(of: claim) }
    }

    mutating func returnRest(of claim: Claim) {
        if let source = claim.source {
            return source._withUnsafeGuaranteedRef { $0.takeBack(from: claim, in: &self) }
        }
        claim.reclaimRest { entry, place in
            if let operation = entry.operation {
                operation._withUnsafeGuaranteedRef { reinsertReady($0) }
            } else {
                putBack(at: place, from: claim)
            }
        }
        insertSuccessors(of: claim)
        slots.giveBack(claim.takeSpareSlots())
    }

    /// Takes over what became ready during a claim, which is retired. Returns the source of the
    /// claim's entries if the source is over.
    @inline(__always)
    private mutating func takeReady(of claim: Claim) -> Unmanaged<EntrySource>? {
        guard let source = claim.source else {
            insertSuccessors(of: claim)
            return nil
        }
        let isOver = source._withUnsafeGuaranteedRef { $0.retired(claim, in: &self) }
        return isOver ? source : nil
    }

    /// Puts the operations that became ready during the claim into their ready lists.
    @inline(__always)
    private mutating func insertSuccessors(of claim: Claim) {
        claim.takeSuccessors { $0._withUnsafeGuaranteedRef { insertReady($0) } }
    }

    /// Puts an operation that was claimed and has not begun back into its ready list. If the
    /// operation is still ready, it keeps the time since which it has been ready.
    private mutating func reinsertReady(_ operation: Operation) {
        let place = operation.place
        insertReady(operation, place: place, readySince: ready.rescheduled.readySince(place))
    }

    /// Returns the slot of a claimed operation that turned out not to be ready, or that will have
    /// another attempt.
    mutating func slotReturned(by operation: Operation) {
        slots.giveBack()
        // The operation holds back others again.
        ready.order.moveBack(to: operation.place)
    }

    // MARK: Changes

    enum Change {
        case suspended(Bool)
        case width(Int)
    }

    mutating func changed(_ change: Change) {
        switch change {
        case .suspended(let isSuspended):
            slots.isSuspended = isSuspended
            notify(records.record(.isSuspended(isSuspended)))
        case .width(let width):
            slots.width = width
            if ready.order.isStrict { returnAllRests() }
            notify(records.record(.width(width)))
        }
        slots.recall()
        let declined = takeDeclined()
        if !declined.isEmpty { laterEffects.readAgain(declined) }
    }

    // MARK: Effects

    /// What is left to do after this hold of the lock, to add to it.
    var laterEffects: QueueEffects {
        mutating get {
            if let effects { return effects }
            let new = QueueEffects()
            effects = new
            return new
        }
    }

    mutating func notify(_ recorder: (any QueueRecorder)?) {
        if let recorder { laterEffects.notify(by: recorder) }
    }

    /// Takes the promotions out of what is left to do.
    mutating func takePromotions() -> [Promotion] { effects?.takePromotions() ?? [] }

    /// Takes what the caller has to perform after it has released the lock; usually nil.
    @inline(__always)
    mutating func takeEffects() -> QueueEffects? {
        if effects == nil { return nil }
        return effects.take()
    }

    /// Changes the executor; returns false while there are operations.
    mutating func executorChanged(to executor: QueueExecutor) -> Bool {
        guard barriers.isEmpty, hasOnlyFinished else { return false }
        self.executor = executor
        // A thread that comes with an older reference, or with a claim, claims nothing more.
        qualities.offered = OfferedUrgencies()
        if qualities.areInUse { endQualityIfUnused() }
        slots.recall()
        return true
    }

    /// Whether an operation that has only now become ready must wait its turn. If not, it may run
    /// at once.
    var hasCompetingWork: Bool {
        ready.hasAny || slots.isSuspended || ordersStarts || claimsIndividually
            || room?.leavesOneByOne == true
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
