import OperationsRuntime
import Synchronization

// The fast path: what `start()` and `finish()` do for operations that nobody subclassed, without
// asking overrides.

extension Operation {
    /// Marks the operation as one in which nothing can be overridden. No other thread can see the
    /// operation yet.
    @inline(__always)
    final func useFastPath(_ flags: LifecycleState.Flags = []) {
        lifecycle.initialize { $0.insert(.fastPath.union(flags)) }
    }

    /// Runs a fast-path operation of a claim. Does what `start()` and `finish()`
    /// do, but asks nothing that cannot have been overridden.
    ///
    /// - Returns: the operation that follows at once, if this operation made one ready that may.
    @inline(__always)
    final func runOnFastPath(_ claim: Claim, in queue: OperationQueue) -> Entry? {
        guard let begun = beginOnFastPath(claim, in: queue) else { return nil }
        if begun.phase == .executing {
            if begun.has([.needsSetup, .asynchronous])
                || queue.instrumentation.load(ordering: .relaxed) != 0
            {
                if begun.has(.asynchronous) {
                    return runBeyondClaim(claim, in: queue)
                }
                runInstrumented(begun, claim, in: queue)
            } else {
                runBlock()
            }
        } else {
            leavesWithoutWork(queue)
        }
        return endOnFastPath(claim, in: queue)
    }

    /// Runs the block of a fast-path operation of a claim, with the instrumentation of its queue
    /// and the setup that the operation needs.
    ///
    /// - Parameter state: the state, which says that the operation executes.
    @inline(never)
    private func runInstrumented(
        _ state: LifecycleState, _ claim: Claim, in queue: OperationQueue
    ) {
        let instrumentation = Instrumentation(
            rawValue: queue.instrumentation.load(ordering: .acquiring))
        guard instrumentation.kinds != 0 else { return runBody(state, instrumentation, in: queue) }
        queue.record(self, state, claim, instrumentation) {
            runBody(state, instrumentation, in: queue)
        }
    }

    /// Runs the body, on a thread made for the operation if the operation needs one.
    @inline(__always)
    private func runBody(
        _ state: LifecycleState, _ instrumentation: Instrumentation, in queue: OperationQueue
    ) {
        guard state.has(.needsSetup), let niceness = ownNiceness(in: queue) else {
            return runBodyHere(state, instrumentation)
        }
        runOnOwnThread(niceness: niceness) { [self] in
            ThreadContext.current.inside(self, of: queue) { runBodyHere(state, instrumentation) }
        }
    }

    @inline(__always)
    private func runBodyHere(_ state: LifecycleState, _ instrumentation: Instrumentation) {
        let needsSetup = state.has(.needsSetup) || instrumentation.contains(.progress)
        func run() { if needsSetup { runMain() } else { runBlock() } }
        guard instrumentation.kinds != 0, let operationObserver else { return run() }
        operationObserver.perform(run)
    }

    /// Records that a cancelled operation ends without its body. The worker that claimed the
    /// operation is about to end it.
    final func leavesWithoutWork(_ queue: OperationQueue) {
        if queue.isObserved { queue.recordDropped(self) }
        if queue.has(.progress) { beforeLeaving { completeCountedUnit(in: queue) } }
    }

    /// Begins the operation and returns its state; nil if a dependency was added at the last
    /// moment. A cancelled operation is not in `executing`.
    @inline(__always)
    final func beginOnFastPath(_ claim: Claim, in queue: OperationQueue) -> LifecycleState? {
        guard let begun = exchange(whileUnlocked: true, { $0.begunOnFastPath() })?.after else {
            queue.putBackLast(claim)
            return nil
        }
        if begun.has(.observed) { notifyObservers() }
        return begun
    }

    /// Ends the operation, whose body has returned. Returns the operation that follows at once.
    @inline(__always)
    final func endOnFastPath(_ claim: Claim, in queue: OperationQueue) -> Entry? {
        if queue.recallEpoch != claim.recallEpoch,
            let single = queue.detachLastIfObserved(from: claim)
        {
            single.takeRetainedValue().finish()
            return nil
        }
        return endInClaim(claim, in: queue)
    }

    /// Ends the operation, whose body has returned, in its claim. Returns the operation that
    /// follows at once.
    @inline(__always)
    final func endInClaim(_ claim: Claim, in queue: OperationQueue) -> Entry? {
        guard let end = exchange(whileUnlocked: true, { $0.finishedAndLocked() }) else {
            return nil
        }
        if end.after.has([.hasEndObservers, .locked]) || end.after.unfinishedDependencies > 0 {
            let next = concludeInClaim(end.after, claim, queue)
            if next == nil { claim.lastEnd = 0 }
            return next.map { .operation($0) }
        }
        return nil
    }

    @inline(never)
    private func concludeInClaim(
        _ state: LifecycleState, _ claim: Claim, _ queue: OperationQueue
    ) -> Unmanaged<Operation>? {
        conclude(state) { dependent in
            queue.keeps(dependent, in: claim)
        } continues: { dependent in
            queue.continues(claim, with: dependent)
        }
    }

    /// Does what the end of an operation requires beside its state and its place in a queue: wakes
    /// waiters, notifies observers, makes dependents ready, hands on the completion block.
    ///
    /// - Parameters:
    ///   - state: the state at the end. If it is locked, this method releases the lock. It is, if
    ///     the operation is in a claim and has edges.
    ///   - keeps: whether the claim of the operation keeps a dependent that has become ready.
    ///   - continues: whether a dependent that has become ready follows at once in the claim.
    /// - Returns: the operation that follows at once.
    @inline(__always)
    final func conclude(
        _ state: LifecycleState, driver: (any QueueDriver)? = nil,
        keeps: (Unmanaged<Operation>) -> Bool, continues: (Unmanaged<Operation>) -> Bool
    ) -> Unmanaged<Operation>? {
        let isLocked = state.has(.locked)
        if isLocked, state.unfinishedDependencies > 0 {
            lifecycle.unlock()
            detachFromDependencies()
            lifecycle.lock()
        }
        let completionBlock =
            state.has(.hasEndObservers) ? notifyEndObservers(isLocked: isLocked) : nil
        var next: Unmanaged<Operation>?
        if state.has([.hasSuccessors, .hasDependencies]) {
            if !isLocked { lifecycle.lock() }
            next = concludeEdges(keeps: keeps, continues: continues)
        }
        if let completionBlock { submit(keptDuring(completionBlock), to: driver) }
        return next
    }

    /// Makes dependents ready, and forgets dependencies. Releases the lock, which the caller holds.
    @inline(__always)
    private func concludeEdges(
        keeps: (Unmanaged<Operation>) -> Bool, continues: (Unmanaged<Operation>) -> Bool
    ) -> Unmanaged<Operation>? {
        var next: Unmanaged<Operation>?
        var others = ReferenceList<Operation>()
        var pruned = ReferenceList<Operation>()
        var isKept = false
        let deferred = releaseSuccessors { dependent in
            if keeps(dependent) {
                isKept = true
            } else if next == nil {
                next = dependent
            } else {
                others.append(dependent)
            }
        }
        pruneDependencies(&pruned)
        lifecycle.unlock()
        if isKept { WorkerPool.watchClaims() }
        // User code that is notified below may wait for the operation that would follow.
        if let first = next, others.isEmpty, deferred == nil, continues(first) {
            ThreadContext.release(pruned)
            return first
        }
        if let first = next { Self.makeReady(first, and: others) }
        deferred?.send()
        ThreadContext.release(pruned)
        return nil
    }
}

extension OperationQueue {
    /// Makes the claim keep an operation that just became ready, until a thread takes the queue's
    /// lock for the claim anyway. Returns whether it did: if the operation outranks nothing in the
    /// claim, and idle workers have other work to claim (competing work).
    @inline(__always)
    fileprivate func keeps(_ operation: Unmanaged<Operation>, in claim: Claim) -> Bool {
        guard claim.hasFreeSlot, hasCompetingWork, recallEpoch == claim.recallEpoch,
            instrumentation.load(ordering: .relaxed) == 0,
            runsOnWorkers.load(ordering: .relaxed)
        else { return false }
        let isOurs = operation._withUnsafeGuaranteedRef { operation in
            let state = operation.status
            return state.has(.fastPath) && !state.has(.rescheduled)
                && state.lane <= claim.lowestLane
                && operation.ownQueue().toOpaque() == Unmanaged.passUnretained(self).toOpaque()
        }
        return isOurs && claim.keepSuccessor(operation)
    }

    /// Appends an operation that just became ready to the claim, where it follows at once, if
    /// nothing else comes before it. Returns whether it did.
    @inline(__always)
    fileprivate func continues(_ claim: Claim, with operation: Unmanaged<Operation>) -> Bool {
        guard claim.hasFreeSlot, claim.canContinue, !hasCompetingWork,
            recallEpoch == claim.recallEpoch
        else { return false }
        let isOurs = operation._withUnsafeGuaranteedRef { operation in
            let state = operation.status
            // The niceness of the thread is right for one urgency only.
            if state.has(.needsSetup) || claim.urgency != .usual,
                state.quality.urgency != claim.urgency
            {
                return false
            }
            return state.has(.fastPath)
                && operation.ownQueue().toOpaque() == Unmanaged.passUnretained(self).toOpaque()
        }
        if isOurs, claim.continues(with: operation) { WorkerPool.watchClaims() }
        return isOurs
    }
}
