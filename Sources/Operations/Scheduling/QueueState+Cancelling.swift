// What a cancellation means for operations in the queue.

extension QueueState {
    /// An operation that was *filed* is cancelled: unless it runs code of a subclass all the same, it needs no
    /// slot any more.
    mutating func cancel(_ operation: Operation) {
        let word = operation.status
        guard word.phase == .queued, !operation.needsSlotToLeave(word),
            clear(operation.place, word: word)
        else { return }
        ring.setReady(operation.place, lane: OperationRing.cancelledLane)
    }

    /// Cancels the plain operations, and keeps the others from beginning their work; returns those, to be
    /// cancelled without the lock.
    ///
    /// All in one hold of the lock: nobody finishes because of it, and nothing begins that waits for one
    /// of these, before the last is marked.
    mutating func cancelAll() -> [Operation] {
        var others: [Operation] = []
        for place in ring.head..<ring.tail {
            ring[place]?._withUnsafeGuaranteedRef { operation in
                if operation.status.has(.fastPath), cancelOnFastPath(operation, place: place) {
                    return
                }
                if operation.announceCancellation() { others.append(operation) }
            }
        }
        return others
    }

    /// False if it has to be done without the lock: somebody has to be told.
    private mutating func cancelOnFastPath(_ operation: Operation, place: Int) -> Bool {
        var isWatched = false
        let change = operation.update { word in
            isWatched =
                word.has([.observed, .hasCancelHandlers])
                || (word.has(.asynchronous) && word.phase == .executing)
            return !isWatched && word.cancelRequested()
        }
        guard let change else { return !isWatched }
        // One that was waiting is filed by nobody else; one that is in no lane is in somebody's hands.
        let isOurs =
            change.before.phase == .waiting
            || (change.before.phase == .queued && clear(place, word: change.after))
        if isOurs { ring.setReady(place, lane: OperationRing.cancelledLane) }
        return true
    }
}
