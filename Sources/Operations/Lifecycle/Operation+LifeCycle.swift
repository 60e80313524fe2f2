import OperationsRuntime
import Synchronization

// The steps of an operation's life. Each step is one event of the operation's state, followed by
// what that event requires. LifecycleStates.md and Finishing.md describe the order of the steps and
// why none is lost.

extension Operation {
    /// The operation's place in the queue's ring.
    var place: Int {
        @inline(__always) get { sequence.load(ordering: .relaxed) }
    }

    // MARK: Becoming ready

    /// Reconsiders whether the operation is ready, after an event that may have made it so.
    func reevaluateReadiness() { transition { $0.mayBeReady() } }

    /// Puts a fast-path operation that the caller moved to `queued` into the ready list. No other
    /// thread can finish the operation, so its queue stays alive.
    func enqueueReady() {
        ownQueue()._withUnsafeGuaranteedRef { $0.insertReady(self) }
    }

    /// Asks whether the operation is ready and, if so, enqueues it. The operation is in
    /// `checkingReadiness` on behalf of the caller.
    func checkReadiness() {
        guard let queue = retainedQueue() else { return }
        while true {
            let before = status
            let event = queue.eventNumber
            // The override is not asked while something other than dependencies holds the
            // operation back. A cancellation leaves only the override: as in Foundation, its no
            // keeps a cancelled operation, too.
            let isOnHold = before.has(.onHold) && !before.has(.cancelled) || before.awaitsCancel
            if !isOnHold, isReady {
                let wasReady = before.isReady
                guard let change = exchange({ $0.becameReady(wasReady: wasReady) }) else { return }
                if change.after.phase == .checkingReadiness { continue }
                // A subclass may report at any moment that the operation is over, and the queue may
                // go with it. The caller's reference keeps the queue alive.
                queue.insertReady(self)
                return
            }
            // The operation is put on that list first. If an event of the queue finds it there
            // before it is `waiting`, the event has its `isReady` read again.
            if before.isReady, !isOnHold, queue.recordDecline(of: self, since: event) {
                continue
            }
            guard let change = exchange({ $0.stillNotReady() }),
                change.after.phase == .checkingReadiness
            else {
                return
            }
        }
    }

    /// Reconsiders a `queued` operation to which a dependency was added.
    func reconsiderReady() {
        retainedQueue()?.event { $0.reconsiderReady(self) }
        // An override of `isReady` that does not call `super` may still return true.
        if !status.has(.fastPath) { transition { $0.readinessAnnounced() } }
    }

    // MARK: Running

    /// Runs an operation that was claimed alone, on the calling thread.
    func runClaimed(in queue: OperationQueue) {
        var started: LifecycleState?
        // An override of `isReady` has been read already and is not read again. A dependency that
        // was added since then counts.
        repeat {
            let state = status
            guard state.phase == .queued else { return }
            // The operation may have been given its permits and a slot some time ago, and its queue
            // may have been suspended since.
            guard state.mayStart, companion?.mustReturn(self, to: queue) != true else {
                return returnClaim(in: queue)
            }
            started = exchange { $0.startingFromQueue() }?.after
        } while started == nil
        if let started, started.has(.observed) { notifyObservers() }
        var attempt: (companion: any OperationCompanion, number: Int)?
        if let existingExtras {
            existingExtras.startTime.store(monotonicNanoseconds(), ordering: .relaxed)
            if let companion = existingExtras.companion, started?.isStopped == false {
                attempt = (companion, companion.attemptBegan())
            }
        }
        var observer: (any OperationObserver)?
        if queue.isObserved {
            queue.recordStart(of: self)
            observer = operationObserver
        }
        // The timeout starts after the start was recorded: no observer learns of a timeout before
        // it learns of the start.
        if let attempt { attempt.companion.willStart(self, attempt: attempt.number) }
        if started?.isStopped == false, let niceness = ownNiceness(in: queue) {
            runOnOwnThread(niceness: niceness) { [self, observer] in
                callStart(in: queue, observer)
            }
        } else {
            callStart(in: queue, observer)
        }
        // A subclass may have finished inside `start()` without announcing it. If it goes on, only
        // its own announcement ends the operation.
        if !finishIfReported(), exchange({ $0.startReturned() }) != nil { SilenceWatch.suspect() }
    }

    private func callStart(in queue: OperationQueue, _ observer: (any OperationObserver)?) {
        ThreadContext.current.inside(self, of: queue) {
            if let observer { observer.perform { start() } } else { start() }
        }
    }

    /// Takes an operation that was claimed alone back to the ready list or to `waiting`.
    private func returnClaim(in queue: OperationQueue) {
        // The permits go first: once the operation is in the ready list, another worker may claim
        // it anew.
        companion?.claimIsReturned()
        guard let change = exchange({ $0.returnedToQueue() }) else { return }
        if change.actions.contains(.returnSlot) { queue.returnSlot(of: self) }
        if change.after.phase == .queued {
            queue.insertReady(self)
        } else {
            // The end of what the operation waits for will make it ready. An override of `isReady`
            // that does not call `super` may return true before that.
            transition { $0.readinessAnnounced() }
        }
    }

    /// Does what the default `start()` does before `main()`. Returns false if there is nothing to
    /// run.
    ///
    /// Only the flag of the base class counts, as in Foundation. A subclass that overrides
    /// `isCancelled` and `cancel()`, and does not call `super.cancel()`, ends itself in its
    /// `main()`.
    final func beginExecuting() -> Bool {
        let state = status
        switch state.phase {
        case .finished: return false
        case .executing:
            refuseStart(.starting(executing: self))
            return false
        case .created where !(state.isCancelled || isReady):
            refuseStart(misuseOfUnready)
            return false
        case .created, .waiting, .checkingReadiness, .queued, .starting: break
        }
        // The body is also called if its time is over already. It then finds itself cancelled.
        if let change = exchange(whileUnlocked: true, { $0.startRequested() }) {
            perform(change)
            return true
        }
        let refused = status
        switch refused.phase {
        case .created where refused.has(.reserved), .waiting, .checkingReadiness, .queued:
            refuseStart(.starting(enqueued: self))
        // The reservation that refused the start has ended.
        case .created where !refused.isStopped: return beginExecuting()
        // Another thread is about to call the operation's `cancel()`, and the operation must not
        // end before such a call.
        case .created where refused.awaitsCancel:
            forceCancel()
            return beginExecuting()
        case .created, .starting:
            willEndUnbegun()
            finish()
        case .finished: break
        case .executing: refuseStart(.startingTwice(self))
        }
        return false
    }

    // MARK: Refusing to start

    /// The reason why the operation cannot be started by hand now; nil if it can.
    var misuseOfStart: OperationMisuse? {
        let state = status
        switch state.phase {
        case .finished: return nil
        case .executing: return .starting(executing: self)
        case .waiting, .checkingReadiness, .queued, .starting: return .starting(enqueued: self)
        case .created where state.has(.reserved): return .starting(enqueued: self)
        case .created where isFinished: return nil
        // A subclass that keeps its own state may have been started by hand before.
        case .created where isExecuting: return .starting(executing: self)
        case .created: return state.isCancelled || isReady ? nil : misuseOfUnready
        }
    }

    /// Refuses a call of the default `start()`: stops the program or reports the mistake, unless
    /// ``startChecked()`` made the call.
    func refuseStart(_ misuse: OperationMisuse) {
        let context = ThreadContext.existing
        // Inside the operation's own body, the call was not made by `startChecked()` but by the
        // body.
        guard let checked = context?.operationState.checkedStart,
            checked.operation == ObjectIdentifier(self), !ThreadContext.isInside(self)
        else { return misuse.refuse() }
        context?.operationState.checkedStart?.misuse = misuse
    }

    private var misuseOfUnready: OperationMisuse {
        .starting(unready: self, unfinished: dependencies.filter { !$0.isFinished }.map(\.label))
    }

    // MARK: Cancelling

    final func markCancelled() { transition { $0.cancelRequested() } }

    /// Calls `cancel()`. An override may not call `super`, so the operation is then marked as
    /// cancelled in any case.
    ///
    /// The answer of an override of `isReady` may depend on what the override of `cancel()` has
    /// done after it called `super`.
    final func forceCancel() {
        cancel()
        markCancelled()
        if !status.has(.fastPath) { reevaluateReadiness() }
    }

    /// Keeps the operation from beginning its body and from ending without it. The caller calls the
    /// operation's `cancel()` next (``CancelRound``). Observers are not notified yet. Returns false
    /// if the operation is over.
    final func announceCancellation() -> Bool { exchange { $0.cancellationAnnounced() } != nil }

    // MARK: Finishing

    /// Ends the operation if its `isFinished`, possibly overridden, says that it is over. Returns
    /// whether the operation is over.
    @discardableResult
    final func finishIfReported() -> Bool {
        guard status.phase != .finished else { return true }
        guard isFinished else { return false }
        finish()
        return true
    }

    /// Ends the operation. Only the first call has an effect.
    ///
    /// - Parameter releasesBodyHere: whether the body is released before this method returns, also
    ///   if this thread is inside another operation.
    final func finish(releasesBodyHere: Bool = false) {
        // The queue's reference to the operation may be the last one.
        withExtendedLifetime(self) {
            guard let before = exchange(whileUnlocked: true, { $0.finished() })?.before else {
                return
            }
            if before.unfinishedDependencies > 0 { detachFromDependencies() }
            let queue = before.isInQueue ? ownQueue() : queueReference.load(ordering: .acquiring)
            var driver: (any QueueDriver)?
            let companion = before.has(.hasEndObservers) ? companion : nil
            if let companion { beforeLeaving { companion.ended(self) } }
            queue?._withUnsafeGuaranteedRef { queue in
                if before.has(.hasEndObservers) { driver = queue.driver }
                // Code that learns of the end finds the queue's progress up to date.
                if queue.activeProgress != nil {
                    beforeLeaving {
                        completeUnit()
                        completeCountedUnit(in: queue)
                    }
                }
                if queue.isObserved { beforeLeaving { queue.recordEnd(of: self, before) } }
                if before.has(.failed), let companion = queue.companion {
                    beforeLeaving { notifyFailure(to: companion, of: queue) }
                }
                // The operation of an entry of a source has no place.
                if place != OperationRing.nowhere {
                    queue.leave(self, releasesSlot: before.has(.holdsSlot))
                }
            }
            companion?.left()
            _ = conclude(
                before, driver: driver, keeps: { _ in false }, continues: { _ in false })
            if keepsBody { if releasesBodyHere { releaseBody() } else { releaseBodyOutside() } }
        }
    }

    /// Releases the body. This operation has left its queue.
    private func releaseBodyOutside() {
        // A thread that is inside no operation may do so at once, without a step.
        if ThreadContext.current.isInsideOperation || TaskContext.operation != nil {
            Self.performOutside { self.releaseBody() }
        } else {
            releaseBody()
        }
    }

    /// Performs a step, which may run user code, once this thread is inside no operation and holds
    /// no slot.
    static func performOutside(_ step: @escaping @Sendable () -> Void) {
        let context = ThreadContext.current
        if let worker = context.activeWorker {
            worker.append(step)
        } else if context.isInsideOperation || TaskContext.operation != nil {
            context.epilogue.append(step)
        } else {
            step()
        }
    }

    /// Calls `body`, which may run user code, after the operation has finished and before it leaves
    /// its queue. A wait for the operation in that code returns at once.
    func beforeLeaving<Result>(_ body: () -> Result) -> Result {
        let context = ThreadContext.current
        context.operationState.leaving.append(opaque)
        defer { context.operationState.leaving.removeLast() }
        return body()
    }

    /// Reports the operation's final failure to the companion of its queue. The operation is still
    /// in its queue, which is not empty before the operation has left.
    @inline(never)
    private func notifyFailure(to companion: any QueueCompanion, of queue: OperationQueue) {
        guard let failure = failureRecord else { return }
        companion.operationFailed(self, failure, in: queue)
    }

    /// Wakes the waiters of the finished operation and notifies its observers.
    ///
    /// - Parameter isLocked: whether the caller holds the lock. If so, the lock is released
    ///   meanwhile.
    /// - Returns: the completion block that must run at the end.
    func notifyEndObservers(isLocked: Bool) -> (@Sendable () -> Void)? {
        guard let extras = existingExtras else { return nil }
        if !isLocked { lifecycle.lock() }
        let block = unlockAndNotify(extras)
        if isLocked { lifecycle.lock() }
        return block
    }

    /// This is a function of its own so that what closures of users hold is released before the
    /// lock is taken again.
    @inline(never)
    private func unlockAndNotify(_ extras: OperationExtras) -> (@Sendable () -> Void)? {
        let (waiters, block) = (extras.waiters.takeAll(), extras.completionBlock)
        let (handlers, recorder) = (extras.cancelHandlers, extras.recorder)
        // The operation may have left without its body before its cancellation arrived. In that
        // case the handlers are called here.
        let isCancelled = status.has(.cancelled)
        let stopTime = extras.stopTime.take()
        extras.cancelHandlers = []
        if !handlers.isEmpty { Self.performOutside { withExtendedLifetime(handlers) {} } }
        extras.completionBlock = nil
        if block != nil { recorder?.record(.completionBlock(nil)) }
        lifecycle.unlock()
        if let stopTime { reportIgnoredStop(at: stopTime) }
        if isCancelled { for handler in handlers { handler.call() } }
        for waiter in waiters { waiter.wake() }
        recorder?.release()
        recorder?.notifyObservers()
        return block
    }

    /// Returns a block that runs `block` and keeps the operation alive meanwhile.
    @inline(never)
    final func keptDuring(_ block: @escaping @Sendable () -> Void) -> @Sendable () -> Void {
        { [self] in withExtendedLifetime(self) { block() } }
    }

    /// Makes a dependent ready whose last dependency has finished; see `releaseSuccessors`.
    static func makeReady(_ operation: Unmanaged<Operation>) {
        let usesFastPath = operation._withUnsafeGuaranteedRef { operation in
            guard operation.status.has(.fastPath) else { return false }
            operation.enqueueReady()
            return true
        }
        if !usesFastPath { operation.takeRetainedValue().checkReadiness() }
    }

    /// Makes dependents ready whose last dependencies have finished; see `releaseSuccessors`.
    @inline(__always)
    static func makeReady(_ first: Unmanaged<Operation>, and others: ReferenceList<Operation>) {
        if others.isEmpty { makeReady(first) } else { makeReady([first] + others.array) }
    }

    private static func makeReady(_ operations: [Unmanaged<Operation>]) {
        var rest = operations[...]
        while let first = rest.first {
            guard first._withUnsafeGuaranteedRef({ $0.status.has(.fastPath) }) else {
                rest.removeFirst()
                first.takeRetainedValue().checkReadiness()
                continue
            }
            // Operations of one queue are enqueued together.
            let queue = first._withUnsafeGuaranteedRef { $0.ownQueue() }
            let count = rest.firstIndex { other in
                other._withUnsafeGuaranteedRef {
                    !$0.status.has(.fastPath) || $0.ownQueue().toOpaque() != queue.toOpaque()
                }
            }
            let group = rest[rest.startIndex..<(count ?? rest.endIndex)]
            rest = rest[group.endIndex...]
            queue._withUnsafeGuaranteedRef { $0.insertReady(group) }
        }
    }
}

// MARK: Overrides of `start()`

private final class WithoutStart: Operation, @unchecked Sendable {}
private final class WithStart: Operation, @unchecked Sendable { override func start() {} }

extension Operation {
    /// Finds out whether a subclass overrides `start()`.
    static let startOverride = StartOverride(
        of: Operation.self, without: WithoutStart.self, with: WithStart.self)

    /// Whether the operation, which is cancelled, runs code of a subclass when it is started. If
    /// so, it needs a slot, and waits for barriers and for the resumption of its queue, like every
    /// operation that runs.
    final func needsSlotToLeave(_ state: LifecycleState) -> Bool {
        !state.has(.fastPath) && replacesStart
    }
}
