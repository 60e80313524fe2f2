import Synchronization

// How the lifecycle state is changed, and the lock that is one of its bits.

extension Operation {
    var status: LifecycleState {
        @inline(__always) get { LifecycleState(bits: word.load(ordering: .acquiring)) }
    }

    struct Change {
        let before: LifecycleState
        let after: LifecycleState
    }

    /// Applies an event and returns the change; nil if the event does not apply.
    @inline(__always)
    @discardableResult
    final func update(_ event: (inout LifecycleState) -> Bool) -> Change? {
        var before = status
        while true {
            if before.has(.observed) { return updateObserved(whileUnlocked: false, event) }
            var after = before
            guard event(&after) else { return nil }
            let (exchanged, original) = word.weakCompareExchange(
                expected: before.bits, desired: after.bits,
                successOrdering: .acquiringAndReleasing, failureOrdering: .acquiring)
            if exchanged { return Change(before: before, after: after) }
            before = LifecycleState(bits: original)
        }
    }

    /// Applies an event while no thread holds the lock, and returns the change; nil if the event
    /// does not apply.
    @inline(__always)
    @discardableResult
    final func updateUnlocked(_ event: (inout LifecycleState) -> Bool) -> Change? {
        var backoff = Backoff()
        var before = status
        while true {
            if before.has(.observed) { return updateObserved(whileUnlocked: true, event) }
            if before.has(.locked) {
                backoff.pause()
                before = status
                continue
            }
            var after = before
            guard event(&after) else { return nil }
            let (exchanged, original) = word.weakCompareExchange(
                expected: before.bits, desired: after.bits,
                successOrdering: .acquiringAndReleasing, failureOrdering: .acquiring)
            if exchanged { return Change(before: before, after: after) }
            before = LifecycleState(bits: original)
        }
    }

    // MARK: The lock

    /// Takes the lock. Its holder keeps it for a few instructions and waits for nothing else
    /// meanwhile.
    @inline(__always)
    final func lock() {
        updateUnlocked { word in
            word.insert(.locked)
            return true
        }
    }

    /// Takes the lock if it is free. Returns false if another thread holds it.
    @inline(__always)
    final func tryLock() -> Bool {
        let change = update { word in
            guard !word.has(.locked) else { return false }
            word.insert(.locked)
            return true
        }
        return change != nil
    }

    @inline(__always)
    final func unlock() {
        word.bitwiseAnd(~LifecycleState.Flags.locked.rawValue, ordering: .releasing)
    }

    /// Releases the lock and clears flags that only change under it, in one step.
    @inline(__always)
    final func unlock(removing flags: LifecycleState.Flags) {
        word.bitwiseAnd(
            ~LifecycleState.Flags.locked.union(flags).rawValue, ordering: .releasing)
    }

    /// Releases the lock and sets `hasSuccessors`, after a successor was added to the list.
    @inline(__always)
    final func unlockWithSuccessors() {
        // Both flags change under the lock only.
        let flags: LifecycleState.Flags =
            status.has(.hasSuccessors) ? .locked : [.locked, .hasSuccessors]
        word.bitwiseXor(flags.rawValue, ordering: .releasing)
    }

    @inline(__always)
    final func withLock<Result>(_ body: () -> Result) -> Result {
        lock()
        defer { unlock() }
        return body()
    }

    /// Takes two locks, in the order of addresses, which keeps two threads from waiting for each
    /// other.
    @inline(__always)
    final func lock(and other: Operation) {
        let selfIsFirst =
            UInt(bitPattern: ObjectIdentifier(self)) < UInt(bitPattern: ObjectIdentifier(other))
        if selfIsFirst {
            lock()
            other.lock()
        } else {
            other.lock()
            lock()
        }
    }

    @inline(__always)
    final func withLock<Result>(and other: Operation, _ body: () -> Result) -> Result {
        lock(and: other)
        defer {
            other.unlock()
            unlock()
        }
        return body()
    }

    // MARK: Extras

    var existingExtras: OperationExtras? {
        extras.load(ordering: .acquiring)?.takeUnretainedValue()
    }

    /// Reads or changes the extras, which are made if needed.
    final func withExtras<Result>(_ body: (OperationExtras) -> Result) -> Result {
        withLock { body(lockedExtras()) }
    }

    /// Returns the extras, which are made if needed. The caller holds the lock.
    final func lockedExtras() -> OperationExtras {
        if let existingExtras { return existingExtras }
        let new = OperationExtras()
        extras.store(Unmanaged.passRetained(new), ordering: .releasing)
        return new
    }

    // MARK: The queue

    /// Whether the operation has finished and another thread is about to take it out of its queue.
    ///
    /// Finished operations of a batch stay in the ring until the batch is retired; the queue does
    /// not count them there. This property is false for them.
    final var isLeaving: Bool {
        let word = status
        return word.phase == .finished && (!word.has(.fastPath) || word.has(.claimedAlone))
            && sequence.load(ordering: .acquiring) != OperationRing.nowhere
    }

    /// Whether the operation leaves its queue together with its batch, at the end of that batch.
    final var leavesWithBatch: Bool {
        let word = status
        return word.has(.fastPath) && !word.has(.claimedAlone)
    }

    /// Returns the queue that the operation is in and has not left, kept alive for the caller.
    final func retainedQueue() -> OperationQueue? {
        var backoff = Backoff()
        while true {
            let (word, queue): (LifecycleState, OperationQueue?) = withLock {
                // The operation cannot finish while the lock is held, and its queue lives until the
                // operation has finished.
                let word = status
                guard word.phase != .finished else { return (word, nil) }
                return (word, queueReference.load(ordering: .acquiring)?.takeUnretainedValue())
            }
            // The operation may be on its way to its place in the queue.
            if queue != nil || !word.isInQueue { return queue }
            backoff.pause()
        }
    }

    /// Returns the queue of an operation that was accepted by a queue and cannot leave it now.
    @inline(__always)
    final func ownQueue() -> Unmanaged<OperationQueue> {
        if let queue = queueReference.load(ordering: .acquiring) { return queue }
        // Another thread is giving the operation its place at this moment, under the queue's lock.
        var backoff = Backoff()
        while true {
            backoff.pause()
            if let queue = queueReference.load(ordering: .acquiring) { return queue }
        }
    }
}
