// The queue's side of blocks for which no operation was made. See Blocks.md.

import OperationsRuntime
import Synchronization

extension OperationQueue {
    /// Adds a block without making an operation for it. Returns the block if it needs one at once.
    @inline(__always)
    final func addWithoutOperation(_ block: consuming Block) -> Block? {
        // A subclass may override `addOperation(_:)`, which receives an operation.
        let rank = ThreadContext.inferredQualityRank
        guard type(of: self) == OperationQueue.self, tasks == nil,
            !hasAdditionSteps.load(ordering: .relaxed),
            rank == 0 || Urgency(rank: rank) == .usual
        else { return block }
        let entry = Entry(block, rank: rank)
        let isAdded = eventOffering { state in
            guard state.takesBlocks else { return false }
            if state.isEmpty { _ = Unmanaged.passRetained(self) }
            state.add(entry)
            return true
        }
        return isAdded ? nil : entry.takeBlock()
    }

    /// Returns the unfinished operations in the order in which they were added, and makes those of
    /// blocks that have none.
    ///
    /// - Complexity: O(places), in one hold of the lock.
    final func allOperations(includingBarriers: Bool = false) -> [Operation] {
        eventOffering { state in
            state.materializeAll()
            return state.operations(includingBarriers: includingBarriers)
        }
    }

    /// Looks at the entries of the queue that have not left, the oldest first, and at no entry that
    /// is added meanwhile. Makes the operations of the blocks that are running.
    ///
    /// The lock is released after every ``placesAtOnce`` places, because workers and adding threads
    /// want it too. So what is seen was true at some moment of the call. If the ring moves entries
    /// meanwhile, the walk begins anew, up to two times; after that, some entries may be seen
    /// twice, or not.
    ///
    /// - Parameters:
    ///   - begin: called whenever the walk begins, with no lock held.
    ///   - body: called with each entry and its place, with the lock held.
    final func walk(
        begin: () -> Void, _ body: (inout QueueState, Entry, Int) -> Void
    ) {
        for attempt in 0... {
            begin()
            var (next, end, moves) = eventOffering { state in
                state.materializeRunning()
                return (state.ring.head, state.ring.tail, state.ring.moveCount)
            }
            while next < end {
                let isInPlace = event { state in
                    if state.ring.moveCount != moves {
                        if attempt < 2 { return false }
                        moves = state.ring.moveCount
                    }
                    next = max(next, state.ring.head)
                    end = min(end, state.ring.tail)
                    let last = min(next + Self.placesAtOnce, end)
                    while next < last {
                        if let entry = state.ring[next] { body(&state, entry, next) }
                        next += 1
                    }
                    return true
                }
                if !isInPlace { break }
                yieldProcessor()
            }
            if next >= end { return }
        }
    }

    /// The most places that a search of the queue looks at in one hold of the lock.
    static let placesAtOnce = 1_024

    /// Returns the operations that execute, and makes those of the blocks that are running. Makes
    /// no operation for a pending block.
    final func operationsAtWork() -> [Operation] {
        var operations: [Operation] = []
        walk {
            operations = []
        } _: { _, entry, _ in
            guard let operation = entry.operation?.takeUnretainedValue(),
                operation.status.isAtWork
            else { return }
            operations.append(operation)
        }
        return operations
    }

    /// Returns the operation of the block that the calling thread, the owner of the claim, runs.
    /// Makes the operation if there is none.
    final func materializeRunning(in claim: Claim) -> Unmanaged<Operation>? {
        event { state in
            state.materializeRunning(in: claim)
            return claim.runningEntry?.operation
        }
    }

    // MARK: Running

    /// Runs a block that was taken from a claim, and then the blocks that follow. Returns the
    /// operation that comes next in the claim; nil if there is none.
    @inline(never)
    final func runBlocks(
        from first: Entry, of claim: Claim, context: ThreadContext
    ) -> Entry? {
        let thread = context.placeOfOperationState
        var next = Optional(first)
        while let block = next, block.isBlock {
            thread.enter(block, of: claim)
            if !claim.isCancelled { block.runBlock() }
            next = takeNext(from: claim, context: context)
        }
        thread.pointee.blockClaim = nil
        return next
    }

    /// Ends the operation that the block which has just run was given. Returns the next entry.
    @inline(never)
    final func endMaterialized(of claim: Claim, context: ThreadContext) -> Entry? {
        // The thread that has made the operation holds the lock until it has put it into the claim.
        guard let operation = event({ _ in claim.takeMaterialized() }) else { return nil }
        context.operationState.blockClaim = nil
        context.operation = operation
        var next: Entry?
        if instrumentation.load(ordering: .relaxed) == 0 {
            next = operation._withUnsafeGuaranteedRef { $0.endOnFastPath(claim, in: self) }
        } else {
            // The end must be recorded, as that of an operation which runs by itself.
            detachLast(from: claim).takeRetainedValue().finish()
        }
        return next ?? takeNext(from: claim, context: context)
    }
}
