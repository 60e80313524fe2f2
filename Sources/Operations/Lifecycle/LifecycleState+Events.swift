// The events of an operation's life. Each changes the state, and returns the actions that the
// thread which brings about the event must perform; nil if the event does not apply, and the state
// must stay as it was.

extension LifecycleState {
    /// What a thread must do after an event; see `Operation.perform(_:)`.
    struct Actions: OptionSet {
        let rawValue: UInt8

        /// Put the operation, which is on the fast path and `queued` now, into the ready list.
        static var enqueue: Actions { Actions(rawValue: 1 << 0) }
        /// Ask the operation, which is `checkingReadiness` now, whether it is ready.
        static var checkReadiness: Actions { Actions(rawValue: 1 << 1) }
        /// Take the operation, which is `queued`, out of the ready list unless it is still ready.
        static var reconsiderReady: Actions { Actions(rawValue: 1 << 2) }
        /// Move the operation, which is `queued`, to the list of cancelled operations.
        static var moveToCancelled: Actions { Actions(rawValue: 1 << 3) }
        /// Return the slot of the queue that the operation no longer holds.
        static var returnSlot: Actions { Actions(rawValue: 1 << 4) }
        /// Call the handlers that were registered for a cancellation.
        static var callCancelHandlers: Actions { Actions(rawValue: 1 << 5) }
        /// Read `isReady` of the operation, which is in no queue. Only an override does something
        /// with that.
        static var readReadiness: Actions { Actions(rawValue: 1 << 6) }
        /// Note when the running body was told to stop; see ``Operation/stopRequested()``.
        static var noteStop: Actions { Actions(rawValue: 1 << 7) }
    }

    // MARK: Events of becoming ready

    /// A queue reserves the operation, which it will add together with others or not at all.
    mutating func reserved() -> Actions? {
        guard phase == .created, !has(.reserved) else { return nil }
        insert(.reserved)
        return []
    }

    /// A queue is about to add the operation.
    ///
    /// - Parameter qualityRank: the rank of the queue's quality of service.
    @inline(__always)
    mutating func enqueued(reserved: Bool = false, qualityRank: Int = 0) -> Actions? {
        guard phase == .created, has(.reserved) == reserved else { return nil }
        remove(.reserved)
        phase = has(.fastPath) ? (isReady ? .queued : .waiting) : .checkingReadiness
        if qualityRank != 0 { _ = quality.promoteByQueue(to: qualityRank) }
        return []
    }

    /// Whether a yes from an override of `isReady` could make the operation ready.
    private var mayBeAsked: Bool {
        (isReady || (has(.forced) && !has(.onHold))) && !awaitsCancel
    }

    /// Something happened that may have made the operation ready. The thread whose event moves the
    /// operation out of `waiting` carries on with it.
    ///
    /// If `isReady` may be overridden, the event applies even where it changes nothing. The thread
    /// that asks `isReady` next must not see an older answer, and its exchange of the state
    /// synchronizes with the exchange that this event makes.
    mutating func mayBeReady() -> Actions? {
        switch phase {
        case .waiting where mayBeAsked:
            phase = has(.fastPath) ? .queued : .checkingReadiness
            return has(.fastPath) ? .enqueue : .checkReadiness
        case .checkingReadiness:
            insert(.askAgain)
            return []
        case .waiting, .queued: return has(.fastPath) ? nil : []
        case .created, .starting, .executing, .finished: return nil
        }
    }

    /// A subclass announced a change of `isReady`. Its override is asked even while dependencies
    /// are unfinished, because the override need not call `super`.
    ///
    /// The event also applies to an operation that is in no queue yet, for the reason given at
    /// ``mayBeReady()``: the thread that adds the operation must not see an older answer.
    mutating func readinessAnnounced() -> Actions? {
        if phase == .waiting, !has([.fastPath, .onHold]), !awaitsCancel {
            phase = .checkingReadiness
            return .checkReadiness
        }
        return mayBeReady() ?? (phase == .created && !has(.fastPath) ? [] : nil)
    }

    /// `isReady` returned true or need not be asked. The operation stays in `checkingReadiness` if
    /// the answer belongs to another state.
    ///
    /// - Parameter wasReady: whether nothing but an override could hold the operation back when it
    ///   was asked.
    mutating func becameReady(wasReady: Bool) -> Actions? {
        guard phase == .checkingReadiness else { return nil }
        if isReady {
            remove(.forced)
        } else if wasReady || has(.askAgain) || has(.onHold) {
            // A dependency was added during the question, or had just finished, so the yes may have
            // been the answer of the base class.
            remove(.askAgain)
            return []
        } else {
            insert(.forced)
        }
        phase = .queued
        remove(.askAgain)
        return []
    }

    /// `isReady` returned false. The operation stays in `checkingReadiness` if an event has
    /// occurred since the question.
    mutating func stillNotReady() -> Actions? {
        guard phase == .checkingReadiness else { return nil }
        if has(.askAgain) { remove(.askAgain) } else { phase = .waiting }
        return []
    }

    /// The operation cannot stay in the ready list because it has an unfinished dependency again.
    mutating func removedFromReady() -> Actions? {
        guard phase == .queued, !isReady, !has(.forced) else { return nil }
        phase = .waiting
        return []
    }

    /// A worker claimed the operation and cannot start it now. If the operation stays `queued`, the
    /// worker puts it back into the ready list.
    mutating func returnedToQueue() -> Actions? {
        guard phase == .queued else { return nil }
        let actions: Actions = has(.holdsSlot) ? .returnSlot : []
        if !mayStart {
            phase = .waiting
            remove(.forced)
        }
        remove([.holdsSlot, .claimedAlone])
        return actions
    }

    mutating func dependencyAdded() -> Actions? {
        unfinishedDependencies += 1
        insert(.hasDependencies)
        return phase == .queued ? .reconsiderReady : []
    }

    /// One dependency has finished, or was removed.
    mutating func dependencyFinished() -> Actions? {
        unfinishedDependencies -= 1
        guard unfinishedDependencies == 0 else { return [] }
        return mayBeReady() ?? (phase == .created && !has(.fastPath) ? .readReadiness : [])
    }

    // MARK: Events of being on hold

    /// The operation's delay is not over. The calling thread is the one that asks whether the
    /// operation is ready.
    mutating func putOnHold() -> Actions? {
        guard phase == .checkingReadiness else { return nil }
        insert(.onHold)
        return []
    }

    /// The queue wanted to claim the operation, and there are not enough permits. An operation that
    /// is about to leave needs no permits, so the event does not apply to it.
    mutating func permitsRefused() -> Actions? {
        guard phase == .queued, !isStopped else { return nil }
        phase = .waiting
        insert(.onHold)
        return []
    }

    /// The operation has its permits and takes a slot of its queue.
    mutating func permitsGranted() -> Actions? {
        guard phase == .waiting, has(.onHold), unfinishedDependencies == 0 || has(.forced),
            !isStopped
        else { return nil }
        phase = .queued
        remove(.onHold)
        insert([.holdsSlot, .claimedAlone])
        return []
    }

    /// The hold is over. Only dependencies and the operation's own `isReady` can hold it back now.
    mutating func released() -> Actions? {
        guard has(.onHold), phase != .finished else { return nil }
        remove(.onHold)
        // An override may have announced a change meanwhile, and was not asked.
        return readinessAnnounced() ?? []
    }

    /// The body has returned and is to run again later.
    mutating func attemptEnded() -> Actions? {
        guard phase == .executing, !isStopped else { return nil }
        let actions: Actions = has(.holdsSlot) ? .returnSlot : []
        phase = .waiting
        remove([.holdsSlot, .claimedAlone, .failed, .expired, .forced])
        insert(.onHold)
        return actions
    }

    // MARK: Events of running

    /// A worker claims the operation by itself.
    ///
    /// - Parameter takesSlot: whether the operation takes a slot of its queue.
    mutating func claimed(takesSlot: Bool) -> Actions? {
        guard phase == .queued else { return nil }
        insert(takesSlot ? [.holdsSlot, .claimedAlone] : .claimedAlone)
        return []
    }

    /// The operation runs in a claim and will leave its queue by itself.
    ///
    /// - Parameter holdsSlot: whether the operation now has a slot of its own, which may be the
    ///   claim's.
    mutating func detachedFromClaim(holdsSlot: Bool = false) -> Actions? {
        insert(holdsSlot ? [.claimedAlone, .holdsSlot] : .claimedAlone)
        return []
    }

    /// The operation, which runs, needs its slot no longer.
    mutating func slotGivenUp() -> Actions? {
        guard has(.holdsSlot) else { return nil }
        remove(.holdsSlot)
        return .returnSlot
    }

    /// A worker begins a fast-path operation. A cancelled operation stays `queued`, and the worker
    /// then finishes it.
    mutating func begunOnFastPath() -> Actions? {
        guard phase == .queued else { return nil }
        if has(.cancellationPending) { insert(.cancelled) }
        if has(.cancelled) { return [] }
        guard unfinishedDependencies == 0 else { return nil }
        phase = .executing
        return []
    }

    /// A worker is about to call `start()`.
    mutating func startingFromQueue() -> Actions? {
        guard phase == .queued, mayStart else { return nil }
        phase = .starting
        if has(.cancellationPending) { insert(.cancelled) }
        return []
    }

    /// The default `start()` was called. An operation whose cancellation became pending only after
    /// its queue had called `start()` has begun. It sees the cancellation when its `cancel()` is
    /// called, like every executing operation.
    mutating func startRequested() -> Actions? {
        guard phase == .starting ? !has(.cancelled) : phase == .created && !isStopped,
            !has(.reserved)
        else { return nil }
        phase = .executing
        return []
    }

    /// The `start()` of a subclass that replaces it has returned, and the operation goes on.
    mutating func startReturned() -> Actions? {
        guard phase == .starting else { return nil }
        insert(.startReturned)
        return []
    }

    /// The priority changes. Changes in a queue are made with the queue's lock held.
    mutating func priorityChanged(toLane lane: Int, inQueue: Bool) -> Actions? {
        guard inQueue || !isInQueue else { return nil }
        self.lane = lane
        if inQueue { insert(.rescheduled) }
        return []
    }

    /// The quality of service may have changed.
    mutating func qualityEvent(_ event: (inout QualityOfServiceState) -> Bool) -> Actions? {
        event(&quality) ? [] : nil
    }

    // MARK: Events of ending

    mutating func cancelRequested() -> Actions? {
        guard phase != .finished, !has(.cancelled) else { return nil }
        insert(.cancelled)
        var actions: Actions = phase == .queued ? .moveToCancelled : mayBeReady() ?? []
        if has(.hasCancelHandlers) {
            actions.insert(.callCancelHandlers)
        } else if phase == .executing, !has(.asynchronous) {
            actions.insert(.noteStop)
        }
        return actions
    }

    /// The operation failed. An operation that was cancelled before counts as cancelled. So does an
    /// operation that has not begun and whose cancellation is pending.
    mutating func failed() -> Actions? {
        guard phase != .finished, !has([.cancelled, .failed]),
            phase == .executing || phase == .starting || !has(.cancellationPending)
        else { return nil }
        insert(.failed)
        return []
    }

    /// The attempt failed because it took too long. The body sees this as a cancellation.
    mutating func expired() -> Actions? {
        guard phase == .executing || phase == .starting, has(.failed),
            !has([.cancelled, .expired])
        else { return nil }
        insert(.expired)
        return has(.hasCancelHandlers) ? .callCancelHandlers : []
    }

    /// Records a failure of a dependency as the reason for the cancellation that is about to
    /// happen.
    mutating func failedUpstream() -> Actions? {
        guard phase != .finished, !has(.cancelled) else { return nil }
        insert(.failedUpstream)
        return []
    }

    mutating func cancellationAnnounced() -> Actions? {
        guard phase != .finished else { return nil }
        insert(.cancellationPending)
        return []
    }

    mutating func finished() -> Actions? {
        guard phase != .finished else { return nil }
        // The body was skipped because of a cancellation whose call of `cancel()` has not come yet.
        // A subclass that reports by itself that it has finished was not cancelled.
        if has(.cancellationPending), has(.fastPath), phase != .executing, phase != .starting {
            insert(.cancelled)
        }
        phase = .finished
        return []
    }

    /// As ``finished()``. Also takes the operation's lock if it has edges, because the caller looks
    /// at them next.
    mutating func finishedAndLocked() -> Actions? {
        guard let actions = finished() else { return nil }
        if has([.hasSuccessors, .hasDependencies]) { insert(.locked) }
        return actions
    }
}
