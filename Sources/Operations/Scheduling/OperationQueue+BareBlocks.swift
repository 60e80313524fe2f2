// The queue's side of blocks for which no operation was made. See BareBlocks.md.

import Synchronization

extension OperationQueue {
    /// Adds a block as a bare block. Returns the block if it needs an operation at once.
    @inline(__always)
    final func addBare(_ block: consuming BareBlock) -> BareBlock? {
        // A subclass may override `addOperation(_:)`, which receives an operation.
        let rank = ThreadContext.inferredQualityRank
        guard type(of: self) == OperationQueue.self, companion == nil, tasks == nil,
            Urgency(rank: rank) == .usual
        else { return block }
        var rest = Optional(block)
        eventOffering { state in
            // A thread that turns on an instrumentation then takes the lock and names the blocks.
            guard instrumentation.load(ordering: .relaxed) == 0,
                state.takesBareBlocks, let block = rest.take()
            else { return }
            if state.isEmpty { _ = Unmanaged.passRetained(self) }
            state.bare.queue = opaque
            state.addBlock(block, rank: rank)
        }
        return rest
    }

    /// Makes operations for all bare blocks that have not ended.
    final func nameBlocks() { eventOffering { $0.nameBlocks() } }

    /// Makes operations for all bare blocks, and returns the address of the operation for the block
    /// that the calling thread runs; nil if it runs none at this moment.
    final func nameRunningBlock(of batch: BareBatch) -> UnsafeMutableRawPointer? {
        eventOffering {
            if batch.isRunning { $0.nameBlocks() }
            return batch.operation
        }
    }

    /// Releases dropped blocks on a worker. After that they leave the queue.
    final func releaseDropped(_ blocks: [BareBlock]) {
        let dropped = DroppedBlocks(blocks)
        WorkerPool.shared.submit(
            .block { [self] in
                let count = dropped.blocks.count
                let departure = eventOffering { $0.droppedLeft(count) }
                dropped.blocks = []
                complete(departure)
            })
    }

    // MARK: Running

    /// Runs the blocks of a batch on the calling thread.
    func run(_ batch: BareBatch, context: ThreadContext) {
        context.inside(nil, of: self) {
            let outer = (context.bareBatch, context.bareRank)
            context.bareBatch = Unmanaged.passUnretained(batch).toOpaque()
            while let slot = takeNext(from: batch) {
                let block = slot.move()
                context.bareRank = block.rank
                block.run()
                // The block is kept: releasing it may run user code, which must wait until the
                // block has left the queue.
                if batch.ended(consume block, at: slot) { finishOperation(of: batch, context) }
            }
            (context.bareBatch, context.bareRank) = outer
        }
    }

    @inline(__always)
    private func takeNext(from batch: BareBatch) -> UnsafeMutablePointer<BareBlock>? {
        if recallEpoch != batch.recallEpoch { reclaimRest(of: batch) }
        return batch.beginNext()
    }

    /// Finishes the operation that a thread made for the running block, which was the last one of
    /// the batch.
    @inline(never)
    private func finishOperation(of batch: BareBatch, _ context: ThreadContext) {
        let address = event { _ in
            defer { batch.operation = nil }
            return batch.operation
        }
        guard let address else { fatalError("unreachable: a named block has an operation") }
        let operation = Unmanaged<Operation>.fromOpaque(address)
        context.bareBatch = nil
        context.operation = operation
        let retained = operation.takeRetainedValue()
        retained.finish()
        context.operation = nil
        extendLifetime(retained)
    }

    /// Retires the batch that a worker has run, and returns its slot. The queue is offered to
    /// another worker only if there is a further slot, because this worker comes back for its own.
    func retire(_ batch: BareBatch, nanoseconds: UInt64) -> QueueState.Departure {
        eventOffering(
            { $0.retire(batch, nanoseconds: nanoseconds) },
            unoffered: { $0.returnSlot(of: batch) })
    }

    func reclaimRest(of batch: BareBatch) {
        let past = eventOffering { $0.reclaimRest(of: batch) }
        if past.isEmpty { return }
        let blocks = DroppedBlocks(past)
        WorkerPool.shared.submit(.block({ blocks.blocks = [] }, .epilogue))
    }

    /// Has the ended blocks of a batch leave the queue: the owner of the batch is about to block.
    func removeEnded(of batch: BareBatch) { complete(eventOffering { $0.removeEnded(of: batch) }) }
}
