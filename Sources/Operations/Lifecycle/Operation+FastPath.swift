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

    /// Runs a fast-path operation that was claimed in a claim. Does what `start()` and `finish()`
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
                    return runInTask(of: claim, in: queue)
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
            rawValue: queue.instrumentation.load(ordering: .relaxed))
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
        guard let end = exchange(whileUnlocked: true, { $0.finishedAndLocked() }) else {
            return nil
        }
        if end.after.has([.hasEndObservers, .locked]) || end.after.unfinishedDependencies > 0 {
            return conclude(end.after, claim, in: queue).map { .operation($0) }
        }
        return nil
    }

    /// Does what the end of a fast-path operation requires if the operation has more than its
    /// block.
    private func conclude(
        _ state: LifecycleState, _ claim: Claim, in queue: OperationQueue
    ) -> Unmanaged<Operation>? {
        var next: Unmanaged<Operation>?
        if state.unfinishedDependencies > 0 {
            lifecycle.unlock()
            detachFromDependencies()
            if state.has(.locked) { lifecycle.lock() }
        }
        let completionBlock =
            state.has(.hasEndObservers) ? notifyEndObservers(isLocked: state.has(.locked)) : nil
        if state.has(.locked) {
            var others = ReferenceList<Operation>()
            var forgotten = ReferenceList<Operation>()
            var isKept = false
            let deferred = releaseSuccessors { dependent in
                if queue.keeps(dependent, in: claim) {
                    isKept = true
                } else if next == nil {
                    next = dependent
                } else {
                    others.append(dependent)
                }
            }
            forgetOldDependencies(&forgotten)
            lifecycle.unlock()
            if isKept { WorkerPool.shared.watchBatches() }
            // User code that is notified here may wait for the operation that would follow.
            if let only = next,
                deferred != nil || !others.isEmpty || !queue.continues(claim, with: only)
            {
                Self.makeReady(only)
                next = nil
            }
            if !others.isEmpty { Self.makeReady(others) }
            deferred?.send()
            ThreadContext.release(forgotten)
        }
        if let completionBlock { submit(keptDuring(completionBlock), to: nil) }
        if next == nil { claim.lastEnd = 0 }
        return next
    }
}

extension OperationQueue {
    /// Has the claim keep an operation that just became ready, until a thread takes the queue's
    /// lock for the claim anyway. Returns whether it did: if the operation outranks nothing in the
    /// claim, and idle workers have other work to claim (competing work).
    @inline(__always)
    fileprivate func keeps(_ operation: Unmanaged<Operation>, in claim: Claim) -> Bool {
        guard claim.holdsSlot, hasCompetingWork, recallEpoch == claim.recallEpoch,
            instrumentation.load(ordering: .relaxed) == 0, !QualityOfServiceUse.isOn,
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
        guard claim.holdsSlot, claim.canContinue, !hasCompetingWork,
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
        if isOurs, claim.continues(with: operation) { WorkerPool.shared.watchBatches() }
        return isOurs
    }
}
