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

    /// Runs a fast-path operation that was claimed in a batch. Does what `start()` and `finish()`
    /// do, but asks nothing that cannot have been overridden.
    ///
    /// - Returns: the operation that follows at once, if this operation made one ready that may.
    @inline(__always)
    final func runOnFastPath(_ batch: Batch, in queue: OperationQueue) -> Unmanaged<Operation>? {
        guard let begun = beginOnFastPath(batch, in: queue) else { return nil }
        if begun.phase == .executing {
            if begun.has([.needsSetup, .asynchronous])
                || queue.instrumentation.load(ordering: .relaxed) != 0
            {
                if begun.has(.asynchronous) {
                    return runInTask(of: batch, in: queue)
                }
                runInstrumented(begun, batch, in: queue)
            } else {
                runBlock()
            }
        } else {
            leavesWithoutWork(queue)
        }
        return endOnFastPath(batch, in: queue)
    }

    /// Runs the block of a fast-path operation of a batch, with the instrumentation of its queue
    /// and the setup that the operation needs.
    ///
    /// - Parameter state: the state, which says that the operation executes.
    @inline(never)
    private func runInstrumented(
        _ state: LifecycleState, _ batch: Batch, in queue: OperationQueue
    ) {
        let instrumentation = Instrumentation(
            rawValue: queue.instrumentation.load(ordering: .relaxed))
        guard instrumentation.kinds != 0 else { return runBody(state, instrumentation, in: queue) }
        queue.record(self, state, batch, instrumentation) {
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
    final func beginOnFastPath(_ batch: Batch, in queue: OperationQueue) -> LifecycleState? {
        guard let begun = exchange(whileUnlocked: true, { $0.begunOnFastPath() })?.after else {
            queue.putBackLast(batch)
            return nil
        }
        if begun.has(.observed) { notifyObservers() }
        return begun
    }

    /// Ends the operation, whose body has returned. Returns the operation that follows at once.
    @inline(__always)
    final func endOnFastPath(_ batch: Batch, in queue: OperationQueue) -> Unmanaged<Operation>? {
        if queue.recallEpoch != batch.recallEpoch, let single = queue.detachLast(from: batch) {
            single.takeRetainedValue().finish()
            return nil
        }
        guard let end = exchange(whileUnlocked: true, { $0.finishedAndLocked() }) else {
            return nil
        }
        if end.after.has([.hasEndObservers, .locked]) || end.after.unfinishedDependencies > 0 {
            return conclude(end.after, batch, in: queue)
        }
        return nil
    }

    /// Does what the end of a fast-path operation requires if the operation has more than its
    /// block.
    private func conclude(
        _ state: LifecycleState, _ batch: Batch, in queue: OperationQueue
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
                if queue.keeps(dependent, in: batch) {
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
                deferred != nil || !others.isEmpty || !queue.continues(batch, with: only)
            {
                Self.makeReady(only)
                next = nil
            }
            if !others.isEmpty { Self.makeReady(others) }
            deferred?.send()
            ThreadContext.release(forgotten)
        }
        if let completionBlock { submit(keptDuring(completionBlock), to: nil) }
        if next == nil { batch.lastEnd = 0 }
        return next
    }
}

extension OperationQueue {
    /// Has the batch keep an operation that just became ready, until a thread takes the queue's
    /// lock for the batch anyway. Returns whether it did: if the operation outranks nothing in the
    /// batch, and idle workers have other work to claim (competing work).
    @inline(__always)
    fileprivate func keeps(_ operation: Unmanaged<Operation>, in batch: Batch) -> Bool {
        guard batch.holdsSlot, hasCompetingWork, recallEpoch == batch.recallEpoch,
            instrumentation.load(ordering: .relaxed) == 0, !QualityOfServiceUse.isOn,
            runsOnWorkers.load(ordering: .relaxed)
        else { return false }
        let isOurs = operation._withUnsafeGuaranteedRef { operation in
            let state = operation.status
            return state.has(.fastPath) && !state.has(.rescheduled)
                && state.lane <= batch.lowestLane
                && operation.ownQueue().toOpaque() == Unmanaged.passUnretained(self).toOpaque()
        }
        return isOurs && batch.keepSuccessor(operation)
    }

    /// Appends an operation that just became ready to the batch, where it follows at once, if
    /// nothing else comes before it. Returns whether it did.
    @inline(__always)
    fileprivate func continues(_ batch: Batch, with operation: Unmanaged<Operation>) -> Bool {
        guard batch.holdsSlot, batch.canContinue, !hasCompetingWork,
            recallEpoch == batch.recallEpoch
        else { return false }
        let isOurs = operation._withUnsafeGuaranteedRef { operation in
            let state = operation.status
            // The niceness of the thread is right for one urgency only.
            if state.has(.needsSetup) || batch.urgency != .usual,
                state.quality.urgency != batch.urgency
            {
                return false
            }
            return state.has(.fastPath)
                && operation.ownQueue().toOpaque() == Unmanaged.passUnretained(self).toOpaque()
        }
        if isOurs, batch.continues(with: operation) { WorkerPool.shared.watchBatches() }
        return isOurs
    }
}
