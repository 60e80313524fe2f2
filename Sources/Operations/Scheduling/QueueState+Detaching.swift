// Detaches suspended async bodies from their claims, and learns from claims how long operations
// take. See RunningAsyncBodies.md.

import Synchronization

extension QueueState {
    /// A duration so long that each operation is claimed by itself until more is known.
    static var unknownNanoseconds: UInt64 { 1_000_000 }

    /// Learns how long each of the `count` operations of a claim has kept a worker. For an
    /// operation whose body is suspended, only the time up to the suspension counts.
    @inline(__always)
    mutating func learn(_ count: Int, nanoseconds: UInt64, suspends: Bool) {
        guard count > 0 else { return }
        bodiesSuspend = suspends
        #if FIXED_BATCHES
        // Under the tool that counts instructions, times say nothing; see Benchmarks/instructions.
        let time: UInt64 = 100
        #else
        let time = nanoseconds / UInt64(count)
        #endif
        typicalNanoseconds = max(time, (typicalNanoseconds + time) / 2)
        if time < typicalNanoseconds / 4 { typicalNanoseconds /= 4 }
    }

    /// Detaches the operation that the worker took last. The operation goes on without the worker,
    /// leaves the queue by itself, and is retained.
    ///
    /// - Parameter keepingRest: whether the worker is about to go on with the rest of the claim. In
    ///   that case the operation takes a slot of its own if one is free. Otherwise it takes the
    ///   claim's slot, and the rest is returned.
    mutating func detachCurrent(from claim: Claim, keepingRest: Bool) -> Reference {
        var holdsSlot = keepingRest && claim.hasRest && hasFreeSlot
        if holdsSlot {
            running += 1
        } else {
            if !keepingRest {
                // The body has not run yet, so the time of the claim says nothing. If the claim has
                // a rest, the rest of the next one would be returned as well, so operations are
                // claimed one by one for now.
                claim.hasMisleadingTime = true
                if claim.hasRest { typicalNanoseconds = Self.unknownNanoseconds }
            }
            returnRest(of: claim)
            holdsSlot = claim.handOverSlot()
        }
        if keepingRest { claim.hasSuspended = true }
        let operation = claim.takeOutLast().retain()
        let start = claim.start.load(ordering: .relaxed)
        operation._withUnsafeGuaranteedRef {
            // This comes before the operation is marked as claimed alone. From then on the start of
            // the claim no longer counts as the operation's start.
            $0.taskRun?._withUnsafeGuaranteedRef { $0.startTime.store(start, ordering: .relaxed) }
            _ = $0.exchange { $0.detachedFromBatch(holdsSlot: holdsSlot) }
        }
        return operation
    }
}
