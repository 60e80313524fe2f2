// The effect of a cancellation on operations in the queue.

extension QueueState {
    /// Moves a `queued` operation that was cancelled to the list that needs no slot, unless the
    /// operation still runs code of a subclass.
    mutating func cancel(_ operation: Operation) {
        let state = operation.status
        guard state.phase == .queued, !operation.needsSlotToLeave(state),
            removeReady(operation.place, state: state)
        else { return }
        ring.setReady(operation.place, lane: OperationRing.cancelledLane)
    }

    /// Cancels the fast-path operations and keeps the others from beginning their bodies. Returns
    /// the others, which the caller cancels without the lock.
    ///
    /// All of this happens in one hold of the lock. Before the last operation is marked, no
    /// operation finishes because of the cancellation, and nothing begins that waits for one of
    /// these operations.
    ///
    /// - Parameter exception: an operation that goes on.
    mutating func cancelAll(
        because reason: CancellationReason, except exception: Operation?
    ) -> [Operation] {
        var others: [Operation] = []
        // Workers begin no other block from here on. A running block learns of the cancellation
        // from its operation.
        materializeRunning()
        dropBlocks()
        for place in ring.head..<ring.tail {
            guard let operation = ring[place]?.operation else { continue }
            operation._withUnsafeGuaranteedRef { operation in
                if operation === exception || operation.status.phase == .finished { return }
                // An operation on the fast path may leave as soon as the lock is released.
                operation.note(reason)
                if operation.status.has(.fastPath), cancelOnFastPath(operation, place: place) {
                    return
                }
                if operation.announceCancellation() { others.append(operation) }
            }
        }
        return others
    }

    /// Cancels a fast-path operation. Returns false if that must be done without the lock, because
    /// the operation's body is running, or observers or handlers must be notified.
    private mutating func cancelOnFastPath(_ operation: Operation, place: Int) -> Bool {
        var isWatched = false
        let change = operation.exchange { state in
            isWatched =
                state.has([.observed, .hasCancelHandlers]) || state.phase == .executing
            return isWatched ? nil : state.cancelRequested()
        }
        guard let change else { return !isWatched }
        // No other thread enqueues an operation that was `waiting`. A `queued` operation that is in
        // no lane is held by another thread or a claim.
        let isOurs =
            change.before.phase == .waiting
            || (change.before.phase == .queued && removeReady(place, state: change.after))
        if isOurs { ring.setReady(place, lane: OperationRing.cancelledLane) }
        return true
    }
}
