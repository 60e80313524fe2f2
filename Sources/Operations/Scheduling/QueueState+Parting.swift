// Async bodies that are suspended go out of their batches, and what is learned from a batch. See Scheduling.md.

import Synchronization

extension QueueState {
    /// So long that each is claimed by itself, until more is known.
    static var unknownNanoseconds: UInt64 { 1_000_000 }

    /// How long an operation keeps a worker: one whose body is suspended up to there.
    @inline(__always)
    mutating func learn(from batch: Batch, nanoseconds: UInt64) {
        let count = batch.begunCount
        guard count > 0, !batch.hasMisleadingTime else { return }
        bodiesSuspend = batch.hasSuspended
        let time = nanoseconds / UInt64(count)
        typicalNanoseconds = max(time, (typicalNanoseconds + time) / 2)
        if time < typicalNanoseconds / 4 { typicalNanoseconds /= 4 }
    }

    /// The operation that the worker took last goes on without the worker: it leaves by itself, and is retained.
    ///
    /// - Parameter keepingRest: whether the worker is about to go on with the rest of the batch. Then the operation
    ///   takes a slot of its own, if there is one; otherwise it has that of the batch, and the rest is given
    ///   back.
    mutating func part(from batch: Batch, keepingRest: Bool) -> Reference {
        var holdsSlot = keepingRest && batch.hasRest && hasFreeSlot
        if holdsSlot {
            running += 1
        } else {
            if !keepingRest {
                // The body has not run yet, and if there is more of its kind the next rest comes back as well.
                batch.hasMisleadingTime = true
                if batch.hasRest { typicalNanoseconds = Self.unknownNanoseconds }
            }
            giveBackRest(of: batch)
            holdsSlot = batch.handOverSlot()
        }
        if keepingRest { batch.hasSuspended = true }
        let operation = batch.takeOutLast().retain()
        let start = batch.start.load(ordering: .relaxed)
        operation._withUnsafeGuaranteedRef {
            // Before it is said to be alone: then its start is not the batch's any more.
            $0.recordTaskStart(start)
            _ = $0.update { $0.detachedFromBatch(holdsSlot: holdsSlot) }
        }
        return operation
    }
}
