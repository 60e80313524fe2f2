import OperationsRuntime
import Synchronization

// The queue's side of the scheduling protocol; see QueuesAndClaims.md.

extension OperationQueue {
    /// Performs one event of the state under the lock.
    @inline(__always)
    func event<Result>(_ body: (inout QueueState) -> Result) -> Result {
        lock.lock()
        defer { lock.unlock() }
        let result = body(&state.pointee)
        publish()
        return result
    }

    /// Performs one event of the state under the lock, and then hands the queue to its executor if
    /// there is something to run.
    ///
    /// After the lock is released, nothing of the queue is touched. The operations that became
    /// ready may be over by then, and the queue may be gone with them. The reference that is handed
    /// on is taken before the release.
    ///
    /// - Parameter unoffered: a further event under the same lock. The queue is not handed over for
    ///   what this event makes possible.
    @inline(__always)
    func eventOffering<Result>(
        _ body: (inout QueueState) -> Result, unoffered: (inout QueueState) -> Void = { _ in }
    ) -> Result {
        typealias Outcome = (Result, QueueOffer?, QueueEffects?)
        let (result, offer, effects): Outcome = event { state in
            let result = body(&state)
            let effects = state.takeEffects()
            let urgency = state.offer()
            unoffered(&state)
            guard let urgency else { return (result, nil, effects) }
            let offer = QueueOffer(
                queue: .passRetained(self), executor: state.executor, urgency: urgency)
            return (result, offer, effects)
        }
        offer?.accept()
        if let effects { effects.perform() }
        return result
    }

    /// Publishes the values that workers read, without the lock, before each operation.
    @inline(__always)
    private func publish() {
        let competing: UInt64 = state.pointee.hasCompetingWork ? 1 : 0
        let hints = UInt64(state.pointee.slots.recallEpoch) << 1 | competing
        if self.hints.load(ordering: .relaxed) != hints {
            self.hints.store(hints, ordering: .relaxed)
        }
    }

    /// Whether operations may have to wait for operations that were added before them. Takes the
    /// lock only if the queue has a reason to hold operations back.
    var ordersStarts: Bool { hasCompetingWork && snapshot { $0.ordersStarts } }

    var recallEpoch: UInt32 { UInt32(truncatingIfNeeded: hints.load(ordering: .relaxed) >> 1) }

    var hasCompetingWork: Bool { hints.load(ordering: .relaxed) & 1 != 0 }

    // MARK: Adding

    @inline(__always)
    func enqueue(_ operation: consuming Operation) {
        // Anything else may be refused for a reason that leaves it in no queue, and is then ended.
        guard operation.status.has(.fastPath), !hasAdditionSteps.load(ordering: .relaxed) else {
            return enqueueWithCare(operation)
        }
        do { try insert(operation, isChecked: true) } catch { error.refuse() }
    }

    @inline(never)
    private func enqueueWithCare(_ operation: Operation) {
        do { try tryEnqueue(operation) } catch { error.refuse(adding: [operation]) }
    }

    @inline(__always)
    func tryEnqueue(_ operation: consuming Operation) throws(OperationMisuse) {
        guard hasAdditionSteps.load(ordering: .relaxed) else { return try insert(operation) }
        try takeSteps(Addition(of: [operation]))
    }

    /// Adds several operations.
    ///
    /// - Parameters:
    ///   - reserved: whether each operation was checked and reserved for this queue.
    ///   - leader: an operation of this queue that executes. The operations then go before all that
    ///     was added after that one.
    func add(
        _ operations: [Operation], reserved: Bool = false, behind leader: Operation? = nil
    ) {
        guard hasAdditionSteps.load(ordering: .relaxed) else {
            return addAll(operations, reserved: reserved, behind: leader)
        }
        do {
            try takeSteps(Addition(of: operations, isReserved: reserved, behind: leader))
        } catch { error.refuse(adding: operations) }
    }

    /// Adds several operations, or none if one of them cannot be added.
    func tryAdd(_ operations: [Operation]) throws(OperationMisuse) {
        try takeSteps(Addition(of: operations))
    }

    @inline(never)
    private func takeSteps(_ addition: Addition) throws(OperationMisuse) {
        try take(snapshot { _ in additionSteps }[...], with: addition)
    }

    private func take(
        _ steps: ArraySlice<any AdditionStep>, with addition: Addition
    ) throws(OperationMisuse) {
        if let step = steps.first {
            var addition = addition
            if !step.isBeforeReserving {
                // What goes behind a leader belongs to an operation for which the step was taken.
                guard addition.leader == nil else {
                    return try take(steps.dropFirst(), with: addition)
                }
                addition = try addition.reserved(for: self)
            }
            return try step.add(addition, to: self) { addition throws(OperationMisuse) in
                try take(steps.dropFirst(), with: addition)
            }
        }
        let isAlone = addition.operations.count == 1 && addition.leader == nil
        if isAlone, !addition.isReserved { return try insert(addition.operations[0]) }
        addAll(
            try addition.reserved(for: self).operations, reserved: true, behind: addition.leader)
    }

    /// Reserves the operations, so that no other thread can start them or add them elsewhere until
    /// they are added here. If one of them cannot be reserved, none is.
    func reserve(_ operations: [Operation]) throws(OperationMisuse) {
        for operation in operations where !operation.status.has(.fastPath) {
            try checkAddition(of: operation)
        }
        for (index, operation) in operations.enumerated()
        where operation.exchange({ $0.reserved() }) == nil {
            let misuse = misuseOfAddition(operation, among: operations)
            for other in operations[..<index] { other.lifecycle.remove(.reserved) }
            throw misuse
        }
    }

    /// Adds an operation. The ring takes over the caller's reference, so that none is counted.
    ///
    /// - Parameter isChecked: whether the operation is known to need no check.
    @inline(__always)
    private func insert(
        _ operation: consuming Operation, isChecked: Bool = false
    ) throws(OperationMisuse) {
        if !isChecked, !operation.status.has(.fastPath) {
            try checkAddition(of: operation)
        }
        if isObserved { recordAddition(of: operation) }
        let reference = Unmanaged.passRetained(consume operation)
        let (added, isSuspicious) = eventOffering({ state in
            let wasEmpty = state.isEmpty
            let added = reference._withUnsafeGuaranteedRef {
                state.add($0, to: self, isRetained: true)
            }
            // A queue retains itself while it holds operations.
            if wasEmpty, added != nil { _ = Unmanaged.passRetained(self) }
            // Once the lock is released, a worker may end and release the operation.
            if added?.isHandledAfterAdding == true { _ = reference.retain() }
            let isSuspicious = added.map { state.mayCloseCircle($0) } == true
            return (added, isSuspicious)
        })
        guard let added else { throw misuseOfAddition(reference.takeRetainedValue()) }
        if isSuspicious { CycleWatch.suspect() }
        guard added.isHandledAfterAdding else { return }
        let operation = reference.takeRetainedValue()
        if added.quality.isGivenByQueue { operation.promoteDependenciesAfterAdding() }
        if added.phase == .checkingReadiness { operation.arrive(in: self) }
    }

    private func addAll(_ operations: [Operation], reserved: Bool, behind leader: Operation?) {
        operations.withUnsafeBufferPointer { buffer in
            // The array keeps all operations alive, so their references need not be counted here.
            buffer.withMemoryRebound(to: Unmanaged<Operation>.self) {
                add($0, of: operations, reserved: reserved, behind: leader)
            }
        }
    }

    private func add(
        _ references: UnsafeBufferPointer<Unmanaged<Operation>>, of operations: [Operation],
        reserved: Bool, behind leader: Operation?
    ) {
        var isSuspicious = false
        var arePlain = true
        for reference in references where !reference.isPlain {
            arePlain = false
            if !reserved {
                do { try checkAddition(of: reference.takeUnretainedValue()) } catch {
                    return error.refuse(adding: operations)
                }
            }
        }
        if isObserved { recordAddition(of: references) }
        for range in Self.parts(of: references, arePlain: arePlain, isBehindLeader: leader != nil) {
            let part = references[range]
            let refused = eventOffering { state in
                let wasEmpty = state.isEmpty
                var free = leader.map { state.makePlaces(part.count, behind: $0) }
                if free == nil { state.makeSpace(for: references.count - range.lowerBound) }
                let refused = part.first { reference in
                    reference._withUnsafeGuaranteedRef {
                        let added = state.add($0, to: self, reserved: reserved, at: free)
                        free = free.map { $0 + 1 }
                        if let added, state.mayCloseCircle(added, isBeforeOthers: leader != nil) {
                            isSuspicious = true
                        }
                        return added == nil && !reserved
                    }
                }
                if wasEmpty, !state.isEmpty { _ = Unmanaged.passRetained(self) }
                return refused
            }
            if let refused {
                let misuse = misuseOfAddition(refused.takeUnretainedValue(), among: operations)
                misuse.refuse(adding: operations)
                break
            }
            guard !arePlain else { continue }
            for reference in part {
                let operation = reference.takeUnretainedValue()
                if operation.status.phase == .checkingReadiness { operation.arrive(in: self) }
            }
        }
        if isSuspicious { CycleWatch.suspect() }
        guard QualityOfServiceUse.isInQueues else { return }
        for operation in operations where operation.status.quality.isGivenByQueue {
            operation.promoteDependenciesAfterAdding()
        }
    }

    /// The parts of an array of operations, in their order. Each is added in one hold of the lock.
    /// They are small, because workers want the lock, too.
    ///
    /// What goes behind a leader is added from the end: each part moves what is behind. Elsewhere,
    /// a part ends where a plain operation follows another one. The other one has to be asked,
    /// without the lock, whether it is ready. The plain one is ready at once, and must not start
    /// before it.
    private static func parts(
        of references: UnsafeBufferPointer<Unmanaged<Operation>>, arePlain: Bool,
        isBehindLeader: Bool
    ) -> [Range<Int>] {
        let count = references.count
        let size = isBehindLeader ? additionsAtOnceBehind : additionsAtOnce
        var parts: [Range<Int>] = []
        var start = 0
        while start < count {
            var end = min(start + size, count)
            if !arePlain, !isBehindLeader {
                end =
                    (start + 1..<end).first {
                        references[$0].isPlain && !references[$0 - 1].isPlain
                    } ?? end
            }
            parts.append(start..<end)
            start = end
        }
        return isBehindLeader ? parts.reversed() : parts
    }

    static let additionsAtOnce = 256
    private static let additionsAtOnceBehind = 4_096

    /// Asks the operation's companion.
    ///
    /// Whether the operation has begun is decided by its lifecycle state alone, as in Foundation. A
    /// class that keeps its own state may say that it executes, or has finished, before its queue
    /// has called `start()`.
    func checkAddition(of operation: Operation) throws(OperationMisuse) {
        try operation.companion?.checkAddition(of: operation)
    }

    /// Returns why an operation cannot be added, after its lifecycle state has refused the
    /// addition.
    func misuseOfAddition(
        _ operation: Operation, among others: [Operation] = []
    ) -> OperationMisuse {
        if others.count(where: { $0 === operation }) > 1 { return .addingTwice(operation.label) }
        switch operation.status.phase {
        case .executing: return .adding(executing: operation)
        case .finished: return .adding(finished: operation)
        default: return .adding(enqueued: operation)
        }
    }

    // MARK: Ready lists

    func insertReady(_ operation: Operation) {
        if isObserved { recordReady(operation) }
        eventOffering({ $0.insertReady(operation) })
    }

    func insertReady(_ operations: ArraySlice<Unmanaged<Operation>>) {
        if isObserved { recordReady(operations) }
        eventOffering({ state in
            for operation in operations {
                operation._withUnsafeGuaranteedRef { state.insertReady($0) }
            }
        })
    }

    /// Cancels the blocks, and the operations that cannot have overridden `cancel()`. Returns the
    /// other operations, which can no longer begin.
    func cancelEntries(
        because reason: CancellationReason, except exception: Operation? = nil
    ) -> [Operation] {
        eventOffering { state in
            // Until all entries are marked, no worker appends a dependent to its claim without
            // taking this lock.
            hints.bitwiseOr(1, ordering: .relaxed)
            return state.cancelAll(because: reason, except: exception)
        }
    }

    /// Changes the priority of an operation in the queue. Returns false if the operation has
    /// finished.
    func changePriority(of operation: Operation, to priority: Operation.QueuePriority) -> Bool {
        eventOffering({ state in
            guard operation.status.phase != .finished else { return false }
            state.changePriority(of: operation, to: priority)
            return true
        })
    }

    func change(_ change: QueueState.Change) {
        guard !isMain else { return }
        eventOffering { $0.changed(change) }
    }

    // MARK: Overrides of `isReady`

    /// The number of events so far that read such overrides again.
    var eventNumber: Int { snapshot { $0.ready.declined.eventNumber } }

    /// Records that only its override of `isReady` keeps the operation from starting. Returns true
    /// if the caller must read the override again, because an event has occurred since the event
    /// with this number.
    @inline(never)
    func recordDecline(of operation: Operation, since number: Int) -> Bool {
        event { $0.recordDecline(of: operation) && $0.ready.declined.eventNumber != number }
    }

    private func reevaluateReadiness(of declined: [QueueState.Reference]) {
        for operation in declined { operation.takeRetainedValue().reevaluateReadiness() }
    }

    // MARK: Running

    /// Claims work for a worker, or for a thread of another executor.
    ///
    /// - Parameter urgency: the urgency with which the queue was offered.
    func claim(
        _ claim: Claim, for executor: QueueExecutor = .workers, offered urgency: Urgency = .usual
    ) -> QueueState.Work {
        eventOffering({
            $0.executorRequestedWork(
                claim, for: executor, offered: urgency, cores: WorkerPool.cores)
        })
    }

    /// Runs what comes next in the queue, if anything, on the calling thread, which is not a
    /// worker.
    func runNext(on executor: QueueExecutor, offered urgency: Urgency = .usual) {
        let claim = Claim()
        let work = self.claim(claim, for: executor, offered: urgency)
        guard case .claim = work else { return run(work) }
        let start = monotonicNanoseconds()
        claim.start.store(start, ordering: .relaxed)
        var departure: QueueState.Departure?
        while departure == nil {
            run(claim, context: .current)
            departure = eventOffering {
                $0.retire(claim, nanoseconds: monotonicNanoseconds() - start)
            }
        }
        if let departure {
            departure.wakeWaiters()
            complete(departure)
        }
        claim.release()
        ThreadContext.performEpilogue()
    }

    /// Runs an operation that was claimed by itself.
    func run(_ work: QueueState.Work) {
        switch work {
        case .none, .claim: break
        case .single(let operation): operation.takeRetainedValue().runClaimed(in: self)
        case .refused(let operation): operation.takeRetainedValue().notifyObservers()
        }
        ThreadContext.performEpilogue()
    }

    /// Runs the entries of a claim on the calling thread.
    @inline(__always)
    func run(_ claim: Claim, context: ThreadContext) {
        if let source = claim.source {
            return source._withUnsafeGuaranteedRef { $0.run(claim, in: self, context: context) }
        }
        context.inside(nil, of: self) {
            var next = takeNext(from: claim, context: context)
            while let entry = next {
                if let operation = entry.operation {
                    context.operation = operation
                    next = operation._withUnsafeGuaranteedRef {
                        $0.runOnFastPath(claim, in: self)
                    }
                    if claim.hasOpenEntries, next == nil {
                        next = runJobs(resuming: claim, context: context)
                    }
                    if next == nil { next = takeNext(from: claim, context: context) }
                } else {
                    next = runBlocks(from: entry, of: claim, context: context)
                }
            }
        }
    }

    /// Runs the jobs that wait for this worker before the next entry begins: they may resume the
    /// body that has just been suspended. A body that comes back ends in the claim, and its task
    /// then runs the bodies that follow.
    ///
    /// There are two rounds, because the continuation of `Task.yield()` takes two jobs.
    ///
    /// - Returns: the entry that a task has left to the worker.
    @inline(never)
    private func runJobs(resuming claim: Claim, context: ThreadContext) -> Entry? {
        if let jobs = context.activeWorker?.jobs {
            let state = context.placeOfOperationState
            var frame = state.pointee.frame
            // The operation may end elsewhere from here on.
            frame.operation = nil
            for _ in 0..<2 where claim.hasOpenEntries && !jobs.isEmpty {
                jobs.runPresent {
                    if claim.handedOver != nil { return false }
                    claim.turnToJobs()
                    // The jobs may belong to other operations, or to none.
                    state.pointee.frame = OperationThreadState.Frame()
                    return true
                }
                claim.returnToCursor()
            }
            state.pointee.frame = frame
        }
        if claim.hasOpenEntries { claim.hasSuspended = true }
        return claim.handedOver.take()
    }

    /// Returns the next entry of a claim to the claim's owner, unless the owner must return the
    /// rest. This ends the block that the owner has just run.
    @inline(__always)
    func takeNext(from claim: Claim, context: ThreadContext) -> Entry? {
        if recallEpoch != claim.recallEpoch { reclaimRest(of: claim) }
        if claim.lacksSlot { eventOffering { $0.provideSlot(for: claim) } }
        if let entry = claim.takeNext() { return entry }
        return claim.isMaterialized ? endMaterialized(of: claim, context: context) : nil
    }

    /// Retires the claim that a worker has run, and returns its slot. The queue is offered to
    /// another worker only if there is a further slot, because this worker comes back for its own.
    ///
    /// - Returns: nil if the block that the worker ran last was given an operation meanwhile. The
    ///   worker ends that operation, and comes back.
    func retire(_ claim: Claim, nanoseconds: UInt64) -> QueueState.Departure? {
        eventOffering(
            { $0.retire(claim, nanoseconds: nanoseconds, keepsSlot: true) },
            unoffered: { if !claim.isMaterialized { $0.returnSlot(of: claim) } })
    }

    /// Claims the next work for a worker whose claim was retired.
    ///
    /// - Parameter urgency: the urgency of the reference with which the worker came.
    @inline(__always)
    func claimNext(_ claim: Claim, offered urgency: Urgency) -> QueueState.Work {
        let (cores, pending) = (WorkerPool.cores, WorkerPool.pendingCount)
        return eventOffering {
            $0.claimNext(claim, offered: urgency, cores: cores, pending: pending)
        }
    }

    /// Takes back what the owner of a claim has not begun, and lets what has ended leave.
    ///
    /// The caller is the owner, a thread that is about to block, or the monitor thread, which runs
    /// no code of a user. So a worker does what is left to do.
    func reclaimRest(of claim: Claim) {
        let (ended, departure) = eventOffering({ $0.reclaimRest(of: claim) })
        if ended.isEmpty, !departure.isDue { return }
        WorkerPool.submit(
            .block(
                {
                    departure.wakeWaiters()
                    self.complete(departure)
                    for entry in ended { entry.release() }
                }, .epilogue))
    }

    func detachLastIfObserved(from claim: Claim) -> Unmanaged<Operation>? {
        eventOffering({ $0.detachLastIfObserved(from: claim) })
    }

    func detachLast(from claim: Claim) -> Unmanaged<Operation> {
        eventOffering({ $0.detachLast(from: claim) })
    }

    func detachCurrent(from claim: Claim) -> Unmanaged<Operation> {
        eventOffering({ $0.detachCurrent(from: claim) })
    }

    /// Detaches an operation whose async body has ended elsewhere, if it is still in its claim.
    func detach(_ operation: Unmanaged<Operation>, _ body: Claim.OpenBody, from claim: Claim) {
        eventOffering({ $0.detach(operation, body, from: claim) })
    }

    func putBackLast(_ claim: Claim) { eventOffering({ $0.putBackLast(claim) }) }

    func returnSlot(of operation: Operation) {
        eventOffering({ $0.slotReturned(by: operation) })
    }

    /// Removes a finished operation that is in no claim.
    func leave(_ operation: Operation, releasesSlot: Bool) {
        let departure = eventOffering({ $0.leave(operation, releasesSlot: releasesSlot) })
        Unmanaged.passUnretained(operation).release()
        departure.wakeWaiters()
        complete(departure)
    }

    /// Reads again what an operation that has left may have made ready, and gives up the queue's
    /// reference to itself if the queue is empty.
    func complete(_ departure: QueueState.Departure) {
        if let source = departure.endedSource { source.takeUnretainedValue().end() }
        if !departure.declined.isEmpty { reevaluateReadiness(of: departure.declined) }
        if departure.isEmpty { Unmanaged.passUnretained(self).release() }
    }

    // MARK: Whole queue

    /// Changes the executor; returns false while there are operations.
    func setExecutor(_ executor: QueueExecutor) -> Bool {
        // The new executor gets the dropped blocks that are left.
        eventOffering { state in
            guard state.executorChanged(to: executor) else { return false }
            runsOnWorkers.store(!state.ignoresQuality, ordering: .relaxed)
            return true
        }
    }

    func addWaiter(_ waiter: Waiter) -> Bool { register(waiter) != nil }

    /// Registers a waiter that may give up with the returned ticket; nil if there is nothing to
    /// wait for.
    func register(_ waiter: Waiter) -> TicketList<Waiter>.Ticket? {
        event { $0.waiterArrived(waiter) }
    }

    func snapshot<Result>(_ body: (borrowing QueueState) -> Result) -> Result {
        lock.lock()
        defer { lock.unlock() }
        return body(state.pointee)
    }
}

extension Unmanaged<Operation> {
    /// Whether nothing about the operation can be overridden, so that it is ready as soon as its
    /// dependencies have finished.
    fileprivate var isPlain: Bool { _withUnsafeGuaranteedRef { $0.status.has(.fastPath) } }
}
