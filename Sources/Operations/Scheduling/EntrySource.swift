import OperationsRuntime

/// The entries that an operation has for claims of its queue while it executes. See Doors.md.
///
/// The entries have no place in the ring. The source keeps those that are ready, and a claim has
/// entries of one source or of none. The queue calls a source once for each claim, and never for a
/// single entry.
///
/// Unchecked: a subclass says what guards its state.
class EntrySource: @unchecked Sendable {
    /// The operation that has the entries, which owns this object. Its place in the ring keeps it
    /// alive until no claim has entries of the source.
    unowned(unsafe) let operation: Operation

    init(of operation: Operation) { self.operation = operation }

    // MARK: Under the queue's lock

    /// Fills a claim with ready entries: at least one, and at most as many as a claim of blocks
    /// would get (`claimSize`). Takes the source out of `sources` if no ready entry is left.
    func fill(_ filling: inout Claim.Filling, in state: inout QueueState, cores: Int) {}

    /// Takes back the entries that the owner of a claim has not begun, and those that the claim
    /// keeps.
    func takeBack(from claim: Claim, in state: inout QueueState) {}

    /// Takes back what a claim keeps, which its owner has run to its end, and counts the entries
    /// that have ended. Returns whether the source is over. The queue then calls ``end()``.
    func retired(_ claim: Claim, in state: inout QueueState) -> Bool { true }

    // MARK: On the thread of the owner of a claim

    /// Runs the entries of a claim, and those that follow at their ends.
    func run(_ claim: Claim, in queue: OperationQueue, context: ThreadContext) {}

    /// Makes the operation of the entry that the calling thread runs, and enters it
    /// (`ThreadContext.enterEntry`).
    func enterOperation(of claim: Claim, in queue: OperationQueue, context: ThreadContext) {}

    // MARK: Without a lock

    /// Ends the operation: the source is over. The calling thread is inside no operation and holds
    /// no slot.
    func end() {}
}
