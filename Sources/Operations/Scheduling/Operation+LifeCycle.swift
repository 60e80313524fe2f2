import Synchronization

// The steps of an operation's life, each one event of its word and then what follows from it. The order of
// the steps, and why none is lost, is in Scheduling.md.

extension Operation {
    /// The place in the queue's ring.
    var place: Int {
        @inline(__always) get { sequence.load(ordering: .relaxed) }
    }

    // MARK: Becoming ready

    /// Something happened that may have made it ready.
    func reevaluateReadiness() {
        if let change = update({ $0.mayBeReady() }) { makeReady(after: change) }
    }

    /// Somebody says that `isReady` may have another answer.
    func askWhetherReady() {
        if let change = update({ $0.readinessAnnounced() }) { makeReady(after: change) }
    }

    /// Brings it to its queue if this event made it the caller's to do so.
    func makeReady(after change: Change) {
        guard change.before.phase == .waiting else { return }
        switch change.after.phase {
        case .queued: enqueueReady()
        case .checkingReadiness: ask()
        default: break
        }
    }

    /// It is plain, and *filed* by the caller: nobody else can finish it, so its queue stays.
    func enqueueReady() {
        ownQueue()._withUnsafeGuaranteedRef { $0.file(self) }
    }

    /// It is *asking*, on the caller's behalf.
    func ask() {
        guard let queue = retainedQueue() else { return }
        while true {
            let before = status
            let event = queue.eventNumber
            // The answer of an override does not count once the operation is cancelled. It is not asked
            // while something else than dependencies holds the operation back.
            let isOnHold = before.has(.onHold) || before.awaitsCancel
            if before.has(.cancelled) || (!isOnHold && isReady) {
                let wasReady = before.isReady
                guard let change = update({ $0.becameReady(wasReady: wasReady) }) else { return }
                if change.after.phase == .checkingReadiness { continue }
                // A subclass may say at any moment that it is over, and take the queue with it.
                queue.file(self)
                return
            }
            // First: an event of the queue that finds it on that list before it is *waiting* has it asked again.
            if before.isReady, !isOnHold, queue.recordHesitation(of: self, since: event) {
                continue
            }
            guard let change = update({ $0.stillNotReady() }),
                change.after.phase == .checkingReadiness
            else {
                return
            }
        }
    }

    /// A dependency was added to it while it was *filed*.
    func unfile() {
        retainedQueue()?.unfile(self)
        // An override of `isReady` that does not ask `super` may still say yes.
        if !status.has(.fastPath) { askWhetherReady() }
    }

    // MARK: Running

    /// Runs an operation that was claimed alone, on the calling thread.
    func runClaimed(in queue: OperationQueue) {
        let context = ThreadContext.current
        var quality = status.quality
        var started: LifecycleState?
        // An override of `isReady` has been asked, and is not asked again; a dependency that was added since
        // counts.
        repeat {
            let word = status
            guard word.phase == .queued else { return }
            // It was granted its units and a slot some time ago.
            guard word.mayStart, !hasToGoBack(in: queue) else { return giveBackClaim(in: queue) }
            quality = word.quality
            // For another worker: this one is too nice, and ends.
            guard word.isStopped || context.prepare(for: self, in: queue) else {
                return giveBackClaim(in: queue)
            }
            started = update { $0.startingFromQueue() }?.after
        } while started == nil
        if let started, started.has(.observed) { notifyObservers() }
        if let started, started.quality != quality { _ = context.prepare(for: self, in: queue) }
        var attempt: (run: AttemptController, serial: Int)?
        if let existingExtras {
            existingExtras.startTime.store(monotonicNanoseconds(), ordering: .relaxed)
            if let run = existingExtras.attemptController, started?.isStopped == false {
                attempt = (run, run.beginsAttempt())
            }
        }
        var witness: (any OperationObserver)?
        if queue.isWatched {
            queue.recordStart(of: self)
            if queue.traces(for: .listener) { witness = self.witness }
        }
        // Nobody is told that it ran out of time before being told that it has begun.
        if let attempt { startTimeout(of: attempt.run, attempt: attempt.serial) }
        context.inside(self, of: queue) {
            if let witness { witness.perform { start() } } else { start() }
        }
        // A subclass may have finished inside `start()` without a word about it.
        finishIfReported()
    }

    /// Takes an operation that was claimed alone back to those that are ready, or that wait.
    private func giveBackClaim(in queue: OperationQueue) {
        // First: once it is there, others may claim it anew.
        attemptController?.claim?.giveBack(keepsTicket: true)
        guard let change = update({ $0.returnedToQueue() }) else { return }
        if change.before.has(.holdsSlot) { queue.returnSlot() }
        if change.after.phase == .queued {
            queue.file(self)
        } else {
            // The end of what it waits for brings it on. An override of `isReady` that does not ask `super`
            // may say yes before that.
            askWhetherReady()
        }
    }

    /// What the default `start()` does before `main()`; false if there is nothing to run.
    final func beginExecuting() -> Bool {
        let word = status
        switch word.phase {
        case .finished: return false
        case .executing:
            refuseStart(.starting(executing: self))
            return false
        case .created where !(isCancelled || isReady):
            refuseStart(.starting(unready: self))
            return false
        case .created, .waiting, .checkingReadiness, .queued, .starting: break
        }
        // The body is called also if the time for it is over already, and is told so.
        let isCancelled = self.isCancelled && !status.isExpired
        if let change = updateUnlocked({ $0.startRequested(isCancelled: isCancelled) }) {
            if change.after.has(.observed) { notifyObservers() }
            return true
        }
        let refused = status
        switch refused.phase {
        case .created where refused.has(.reserved), .waiting, .checkingReadiness, .queued:
            refuseStart(.starting(enqueued: self))
        // The promise that refused it was broken.
        case .created where !isCancelled && !refused.isStopped: return beginExecuting()
        // Another thread is about to call its `cancel()`, and it does not end before such a call.
        case .created where refused.awaitsCancel:
            cancel()
            markCancelled()
            return beginExecuting()
        case .created, .starting:
            willEndUnbegun()
            finish()
        case .finished: break
        case .executing: refuseStart(.startingTwice(self))
        }
        return false
    }

    // MARK: Cancelling

    final func markCancelled() {
        guard let change = update({ $0.cancelRequested() }) else { return }
        if change.before.phase == .queued {
            retainedQueue()?.moveCancelled(self)
        } else {
            makeReady(after: change)
        }
        if change.after.has(.observed) { notifyObservers() }
        if change.after.has(.hasCancelHandlers) { callCancelHandlers() }
    }

    /// Keeps the operation from beginning its work, and from ending without it. The caller calls its `cancel()`
    /// next (``CancelRound``). Observers hear nothing yet; false if the operation is over.
    final func announceCancellation() -> Bool { update { $0.cancellationAnnounced() } != nil }

    // MARK: Finishing

    /// Ends the operation if `isFinished`, possibly overridden, says that it is over.
    final func finishIfReported() {
        if status.phase != .finished, isFinished { finish() }
    }

    /// Ends the operation; the first call does, later ones change nothing.
    final func finish() {
        // The reference of its queue may be the last one.
        withExtendedLifetime(self) {
            guard let before = updateUnlocked({ $0.finished() })?.before else { return }
            if before.phase != .executing { dropWork() }
            if before.unfinishedDependencies > 0 { detachFromDependencies() }
            let queue = before.isInQueue ? ownQueue() : queueReference.load(ordering: .acquiring)
            var driver: (any QueueDriver)?
            let claim =
                before.has(.hasEndObservers) ? beforeLeaving { attemptController?.end(self) } : nil
            queue?._withUnsafeGuaranteedRef { queue in
                if before.has(.hasEndObservers) { driver = queue.driver }
                // One that replaces `start()` has no `main()` to count.
                if before.phase == .starting, !before.isCancelled {
                    queue.activeProgress?.completeUnit()
                }
                if queue.isWatched { beforeLeaving { queue.recordEnd(of: self, before) } }
                if before.has(.failed), let scope = queue.scope {
                    beforeLeaving { notifyFailure(to: scope, of: queue) }
                }
                queue.leave(self, gaveBackSlot: before.has(.holdsSlot))
            }
            claim?.serveOthers()
            let completionBlock = before.has(.hasEndObservers) ? notifyEndObservers() : nil
            if before.has([.hasSuccessors, .hasDependencies]) {
                var ready: [Unmanaged<Operation>] = []
                var forgotten = References()
                let told = withLock {
                    defer { forgetOldDependencies(&forgotten) }
                    return releaseSuccessors { ready.append($0) }
                }
                Self.makeReady(ready)
                told?.tell()
                forgotten.release()
            }
            if let completionBlock { submit(keptDuring(completionBlock), to: driver) }
        }
    }

    /// Calls what may run code of users after the operation has finished and before it leaves its queue. A wait
    /// for the operation in that code returns at once.
    private func beforeLeaving<Result>(_ body: () -> Result) -> Result {
        let context = ThreadContext.current
        context.leaving.append(.passUnretained(self))
        defer { context.leaving.removeLast() }
        return body()
    }

    /// It has failed for good, and is still in its queue, which is not over before it has left.
    @inline(never)
    private func notifyFailure(to scope: QueueScope, of queue: OperationQueue) {
        guard let failure = failureRecord else { return }
        scope.operationFailed(self, failure, in: queue)
    }

    /// Wakes those who wait for the finished operation, and tells observers; returns the block that is to
    /// be run at the end.
    ///
    /// - Parameter isLocked: whether the caller holds the lock; it is released meanwhile.
    func notifyEndObservers(isLocked: Bool = false) -> (@Sendable () -> Void)? {
        guard let extras = existingExtras else { return nil }
        if !isLocked { lock() }
        let block = unlockAndNotify(extras)
        if isLocked { lock() }
        return block
    }

    /// A function of its own: what closures of users hold is let go of before the lock is taken again.
    @inline(never)
    private func unlockAndNotify(_ extras: OperationExtras) -> (@Sendable () -> Void)? {
        let (waiters, block) = (extras.waiters.takeAll(), extras.completionBlock)
        let (handlers, observations) = (extras.cancelHandlers, extras.observations)
        let cycles = extras.standingCycles
        // It left without its work before the cancellation came to it.
        let isCancelled = status.has(.cancelled)
        extras.cancelHandlers = []
        extras.completionBlock = nil
        if block != nil { observations?.record(OperationProperties.completionBlock, nil) }
        unlock()
        if isCancelled { for handler in handlers { handler.call() } }
        for waiter in waiters { waiter.wake() }
        for cycle in cycles { cycle.lookAgain() }
        observations?.release()
        observations?.tell()
        return block
    }

    /// The same block, which keeps the operation while it runs.
    @inline(never)
    final func keptDuring(_ block: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        { [self] in withExtendedLifetime(self) { block() } }
    }

    /// Brings a dependent on whose last dependency has gone; see `releaseSuccessors`.
    static func makeReady(_ operation: Unmanaged<Operation>) {
        let usesFastPath = operation._withUnsafeGuaranteedRef { operation in
            guard operation.status.has(.fastPath) else { return false }
            operation.enqueueReady()
            return true
        }
        if !usesFastPath { operation.takeRetainedValue().ask() }
    }

    /// Brings dependents on whose last dependency has gone; see `releaseSuccessors`.
    static func makeReady(_ operations: [Unmanaged<Operation>]) {
        var rest = operations[...]
        while let first = rest.first {
            guard first._withUnsafeGuaranteedRef({ $0.status.has(.fastPath) }) else {
                rest.removeFirst()
                first.takeRetainedValue().ask()
                continue
            }
            // Those of one queue together.
            let queue = first._withUnsafeGuaranteedRef { $0.ownQueue() }
            let count = rest.firstIndex { other in
                other._withUnsafeGuaranteedRef {
                    !$0.status.has(.fastPath) || $0.ownQueue().toOpaque() != queue.toOpaque()
                }
            }
            let group = rest[rest.startIndex..<(count ?? rest.endIndex)]
            rest = rest[group.endIndex...]
            queue._withUnsafeGuaranteedRef { $0.file(group) }
        }
    }
}

/// Stops the program because of a mistake in its code.
package func misuse(_ sentence: String) -> Never {
    fatalError("Operations: \(sentence).")
}
