// Detaches suspended async bodies from their claims. See RunningAsyncBodies.md.

import Synchronization

extension QueueState {
    /// Detaches the operation that the worker took last, whose body has not run yet and may keep
    /// its thread for long. The operation leaves the queue by itself, and is retained. The rest of
    /// the claim is returned.
    mutating func detachCurrent(from claim: Claim) -> Reference {
        // The time of the claim says nothing. If the claim has a rest, the rest of the next one
        // would be returned as well, so operations are claimed one by one for now.
        claim.hasMisleadingTime = true
        if claim.hasRest { slots.pace.forget() }
        returnRest(of: claim)
        let operation = claim.takeOutLast().retain()
        detached(operation, from: claim)
        return operation
    }

    /// Detaches the operations of a claim whose bodies are suspended. They leave the queue by
    /// themselves.
    @inline(never)
    mutating func detachOpen(in claim: Claim) {
        claim.takeOutOpen { detached($0, from: claim) }
    }

    /// Records that an operation, which runs, is no longer in its claim. It takes one slot with it.
    func detached(_ operation: Reference, from claim: Claim) {
        let start = claim.start.load(ordering: .relaxed)
        let holdsSlot = claim.handOverSlot()
        operation._withUnsafeGuaranteedRef {
            // This comes before the operation is marked as claimed alone. From then on the start of
            // the claim no longer counts as the operation's start.
            $0.taskBody?.recordTaskStart(start)
            _ = $0.exchange { $0.detachedFromClaim(holdsSlot: holdsSlot) }
        }
    }

    /// Gives a claim, whose slots are in use by suspended bodies or have gone with them, one more
    /// slot. If there is none, its rest is returned.
    mutating func provideSlot(for claim: Claim) {
        claim.forgetTakenOut()
        if !claim.hasFreeSlot { addSlotOrReturnRest(of: claim) }
    }

    /// Gives a claim one more slot for its rest, or returns the rest. The claim has no slot for it.
    mutating func addSlotOrReturnRest(of claim: Claim) {
        guard claim.hasRest, slots.hasFree else { return returnRest(of: claim) }
        slots.take()
        claim.addSlot()
    }
}
