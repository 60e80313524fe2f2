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
            additionSteps.load(ordering: .relaxed) == 0,
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
