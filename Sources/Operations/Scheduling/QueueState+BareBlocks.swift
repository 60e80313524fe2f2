// The events of blocks for which no operation was made. See BareBlocks.md.

import Synchronization

extension QueueState {
    /// Whether a block that is added now may stay bare.
    @inline(__always)
    var takesBareBlocks: Bool {
        guard ring.count == 0, qualityRank == 0, order.isDefault, !notifiesEach,
            !capacityQueue.isUsed, case .workers = executor
        else { return false }
        return true
    }

    /// Adds a bare block at the end. The rank is that of the quality of service in force where the
    /// block is added.
    @inline(__always)
    mutating func addBlock(_ block: consuming BareBlock, rank: Int) {
        block.added(at: ring.tail, rank: rank)
        bare.append(block)
        ring.skip(1)
        bare.count += 1
        readyCount += 1
    }

    // MARK: Running

    /// Claims bare blocks for a worker. Returns false if there are none to claim.
    mutating func claimBlocks(_ batch: BareBatch, cores: Int) -> Bool {
        guard !isSuspended, hasFreeSlot else { return false }
        let count = min(batchSize(cores: cores), bare.pendingCount, BareBatch.capacity)
        batch.claimed(count, recallEpoch: recallEpoch) { bare.moveFirst(count, to: $0) }
        readyCount -= count
        running += 1
        bare.batches.append(batch)
        return true
    }

    /// Retires a batch that its worker has run to its end. The blocks leave the queue. If further
    /// blocks are pending, the batch keeps its slot.
    mutating func retire(_ batch: BareBatch, nanoseconds: UInt64) -> Departure {
        if !batch.hasMisleadingTime {
            learn(batch.begunCount, nanoseconds: nanoseconds, suspends: false)
        }
        if readyCount == 0 { returnSlot(of: batch) }
        bare.batches.removeAll { $0 === batch }
        batch.retired()
        return removeEnded(of: batch)
    }

    /// Returns the slot of a batch that was retired and has kept it.
    mutating func returnSlot(of batch: BareBatch) { if batch.handOverSlot() { running -= 1 } }

    /// Takes back the blocks that the worker has not begun. Returns those that have ended, which
    /// the caller releases without the lock.
    mutating func reclaimRest(of batch: BareBatch) -> [BareBlock] {
        // The monitor thread may come with the queue of an earlier batch.
        guard bare.batches.contains(where: { $0 === batch }) else { return [] }
        let rest = batch.takeBack(naming: false).rest
        readyCount += rest.count
        bare.putBack(rest)
        return batch.takePast()
    }

    /// Has the ended blocks of a batch leave the queue, on behalf of the batch's owner.
    mutating func removeEnded(of batch: BareBatch) -> Departure {
        let count = batch.takeEnded()
        bare.count -= count
        return departure(leaving: count)
    }

    // MARK: Naming and dropping

    /// Whether pending blocks were promoted because of their places, so that they have an urgency
    /// of their own.
    var hasPromotedBlocks: Bool {
        bare.pendingCount > 0 && QualityOfServiceUse.isOn && qualityMarks.end > bare.firstPlace
    }

    /// Makes operations for all bare blocks that have not ended.
    @inline(never)
    mutating func nameBlocks() {
        guard bare.count > 0 else { return }
        let (blocks, running) = takeAllBlocks()
        name(blocks + running.map(\.block), running)
    }

    /// Removes the bare blocks that have not begun, and makes operations for the running ones. The
    /// caller releases the removed blocks without the lock, and then has them leave.
    mutating func dropBlocks() -> [BareBlock] {
        guard bare.count > 0 else { return [] }
        let (blocks, running) = takeAllBlocks()
        name(running.map(\.block), running)
        return blocks
    }

    mutating func droppedLeft(_ count: Int) -> Departure {
        bare.count -= count
        return departure(leaving: count)
    }

    private typealias Running = (block: BareBlock, batch: BareBatch)

    /// Takes the blocks that have not begun from their lists, and the right to end those that run.
    private mutating func takeAllBlocks() -> (blocks: [BareBlock], running: [Running]) {
        readyCount -= bare.pendingCount
        var (blocks, running): ([BareBlock], [Running]) = (bare.takePending(), [])
        for batch in bare.batches {
            let taken = batch.takeBack(naming: true)
            blocks += taken.rest
            if let block = taken.running { running.append((block, batch)) }
        }
        return (blocks, running)
    }

    /// Puts operations for the blocks into the ring, which is empty.
    private mutating func name(_ blocks: [BareBlock], _ running: [Running]) {
        guard let address = bare.queue, !blocks.isEmpty else { return }
        // Blocks of batches may come before pending ones, and after them.
        let blocks = bare.batches.isEmpty ? blocks : blocks.sorted { $0.place < $1.place }
        var running = running.sorted { $0.block.place < $1.block.place }[...]
        let queue = Unmanaged<OperationQueue>.fromOpaque(address).takeUnretainedValue()
        bare.count -= blocks.count
        // The operations get the last places before those of future additions.
        ring.skip(-blocks.count)
        let first = ring.tail
        if qualityMarks.end > 0 {
            let places = blocks.enumerated().map { (old: $1.place, new: first + $0) }
            qualityMarks.renumber(places, tail: first + blocks.count)
        }
        for block in blocks {
            let operation = BlockOperation(block: block.body)
            let isRunning = running.first?.block.place == block.place
            let batch = isRunning ? running.removeFirst().batch : nil
            // What the calling thread is inside does not matter.
            operation.lifecycle.initialize {
                $0 = LifecycleState(usesFastPath: true)
                $0.quality = QualityOfServiceState(inferred: block.rank)
            }
            if let batch {
                // No other thread can see the operation yet, so its lock is not needed.
                let start = batch.start.load(ordering: .relaxed)
                operation.lockedExtras().startTime.store(start, ordering: .relaxed)
            }
            guard let state = add(operation, to: queue) else { continue }
            guard let batch else { continue }
            // The block runs: the operation is what it would be after a claim in a batch, and after
            // its detachment from that batch.
            _ = removeReady(operation.place, state: state)
            _ = operation.exchange { $0.begunOnFastPath() }
            let holdsSlot = batch.handOverSlot()
            _ = operation.exchange { $0.detachedFromBatch(holdsSlot: holdsSlot) }
            batch.operation = Unmanaged.passRetained(operation).toOpaque()
        }
    }
}
