import OperationsRuntime
import Synchronization

// The parts of an operation that live outside its state: its extras, and its queue.

extension Operation {
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

    /// The deadline by which the queue orders the operation, or ``SortKey/noDeadline`` if the
    /// operation has none. It starts no timer; the trait ``OperationTrait/deadline(in:)`` does.
    var sortDeadline: Int64 {
        existingExtras?.sortDeadline.load(ordering: .relaxed) ?? SortKey.noDeadline
    }

    // MARK: The queue

    /// Whether the operation is in that queue, or was and has left.
    final func wasAdded(to queue: OperationQueue) -> Bool {
        queueReference.load(ordering: .acquiring)?.toOpaque()
            == Unmanaged.passUnretained(queue).toOpaque()
    }

    /// Whether the operation has finished and another thread is about to take it out of its queue.
    ///
    /// Finished operations of a claim stay in the ring until the claim is retired; the queue does
    /// not count them there. This property is false for them.
    final var isLeaving: Bool {
        let state = status
        return state.phase == .finished && (!state.has(.fastPath) || state.has(.claimedAlone))
            && sequence.load(ordering: .acquiring) != OperationRing.nowhere
    }

    /// Whether the operation leaves its queue together with its claim, at the end of that claim.
    final var leavesWithClaim: Bool {
        let state = status
        return state.has(.fastPath) && !state.has(.claimedAlone)
    }

    /// Returns the queue that the operation is in and has not left, kept alive for the caller.
    final func retainedQueue() -> OperationQueue? {
        var backoff = Backoff()
        while true {
            let (state, queue): (LifecycleState, OperationQueue?) = withLock {
                // The operation cannot finish while the lock is held, and its queue lives until the
                // operation has finished.
                let state = status
                guard state.phase != .finished else { return (state, nil) }
                return (state, queueReference.load(ordering: .acquiring)?.takeUnretainedValue())
            }
            // The operation may be on its way to its place in the queue.
            if queue != nil || !state.isInQueue { return queue }
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
