/// The object that carries out the options of one operation: its delay and deadline, its attempts,
/// its permits and keys.
///
/// The scheduler calls these methods at the named events, and knows nothing else of the options.
/// An operation has at most one companion, which is always an `AttemptController`. The operation's
/// extras hold the companion, which is set before the operation is added, and then kept. An
/// operation with a companion is not on the fast path. Doors.md says when each method is called,
/// and what it may do.
protocol OperationCompanion: AnyObject, Sendable {
    /// Whether the body may be needed again after it has run.
    var mayRunAgain: Bool { get }

    /// Called before the operation is added; throws if the operation could never start.
    func checkAddition(of operation: Operation) throws(OperationMisuse)

    /// Called when the operation has its place in the queue. The operation is `checkingReadiness`
    /// on behalf of the caller, which asks whether the operation is ready as soon as this returns.
    ///
    /// Until then the operation cannot start, but it may end: a subclass may report that it is
    /// finished. Then `ended` is called before or while this method runs.
    func arrived(_ operation: Operation, in queue: OperationQueue)

    // MARK: Claiming

    /// Called with the lock of the queue held when the queue is about to claim the operation.
    /// Returns false if the operation must wait; the companion later calls `grantClaim()`.
    ///
    /// - Parameter refuse: puts the operation back to `waiting`; returns false if that is not
    ///   possible, because the operation is about to leave. Then the claim goes on.
    func mayBeClaimed(refuse: () -> Bool) -> Bool

    /// Whether the operation, which was claimed, must be returned to its queue instead of being
    /// started.
    func mustReturn(_ operation: Operation, to queue: OperationQueue) -> Bool

    /// Called before the claimed operation is returned to its queue.
    func claimIsReturned()

    /// Called when the priority of the operation has changed in its queue.
    func priorityChanged(of operation: Operation)

    // MARK: Running

    /// Called when a worker has begun to start the operation, before observers of the queue are
    /// notified of the start. Returns the number of the attempt.
    ///
    /// Not called for an operation that was cancelled before its start, nor for one that is started
    /// by hand.
    func attemptBegan() -> Int

    /// Called just before `start()`, after observers of the queue were notified of the start; only
    /// if `attemptBegan()` was called.
    func willStart(_ operation: Operation, attempt: Int)

    /// Called when the body has returned or thrown. Concludes the operation, or puts it on hold for
    /// its next attempt.
    func bodyReturned(_ operation: Operation)

    // MARK: Ending

    /// Called when the operation has finished and is about to leave its queue: once for each
    /// operation, whether it has begun or not, and even if it never was in a queue.
    func ended(_ operation: Operation)

    /// Called after `ended`, when the operation has left its queue, so that its slot is free.
    func left()
}

extension Operation {
    /// The companion of the operation, if it has one; constant once the operation was added.
    final var companion: (any OperationCompanion)? {
        @inline(__always) get { existingExtras?.companion }
    }

    /// Whether the body may be needed again after it has run.
    final var mayRunAgain: Bool {
        @inline(__always) get { companion?.mayRunAgain ?? false }
    }

    /// Ends the operation, unless its companion wants another attempt; the body has returned or
    /// thrown.
    final func bodyReturned() {
        guard let companion else { return conclude() }
        companion.bodyReturned(self)
    }

    /// Prepares the operation's companion for the queue, and then checks the operation's readiness.
    /// The operation has its place in the queue, and is `checkingReadiness` on the caller's behalf.
    final func arrive(in queue: OperationQueue) {
        companion?.arrived(self, in: queue)
        checkReadiness()
    }

    // MARK: For companions

    /// Claims the operation, which may start now after a refusal. Returns false if its queue cannot
    /// start it now.
    ///
    /// - Parameters:
    ///   - start: when the claim was refused, as `recordTime()`.
    ///   - areTokens: whether the operation has waited for tokens since, and not only for permits.
    final func grantClaim(refusedAt start: UInt64, areTokens: Bool) -> Bool {
        guard let queue = retainedQueue() else { return false }
        defer { if status.has(.observed) { notifyObservers() } }
        if queue.isObserved { queue.recordPermits(for: self, since: start, areTokens: areTokens) }
        return queue.eventOffering { $0.grant(self) }
    }

    /// Releases the hold. From here on only dependencies, and an override of `isReady`, can hold
    /// the operation back.
    final func releaseHold() { transition { $0.released() } }

    /// Marks the attempt as expired, which only the body sees as a cancellation.
    final func markExpired() { transition { $0.expired() } }
}
