// Blocks for which no operation was made, and the operations that are made for them when somebody
// asks. See Blocks.md.

import Synchronization

extension QueueState {
    /// Decides ``takesBlocks`` anew, because one of the conditions has changed.
    mutating func decideAboutBlocks() {
        takesBlocks =
            qualities.rank == 0 && ready.order.isDefault && !records.notifiesEach
            && room?.makesOperations != true && !records.isInstrumented
            && executor.isSame(as: .workers)
    }

    /// Adds a block at the end. The ring takes over the reference of the entry.
    @inline(__always)
    mutating func add(_ block: Entry) {
        if !ring.hasSpace(for: 1) { makeSpace(for: 1) }
        becameReady(at: ring.append(block))
    }

    /// Puts a block that was claimed and not begun back to where it was claimed.
    mutating func putBack(at place: Int, from claim: Claim) {
        if claim.isCancelled { return ring.setReady(place, lane: OperationRing.cancelledLane) }
        if ready.order.isStrict { ready.order.moveBack(to: place) }
        becameReady(at: place)
    }

    @inline(__always)
    private mutating func becameReady(at place: Int) {
        ring.setReady(place, lane: PriorityLanes.normal)
        ready.count += 1
        if PriorityLanes.normal > slots.lowestClaimedLane { slots.recall() }
    }

    // MARK: Operations for blocks

    /// Returns the operation at a place where an entry is pending, that is, ready and not claimed.
    /// Makes the operation if there is only a block.
    ///
    /// - Complexity: O(1).
    mutating func materialize(_ place: Int) -> Reference {
        guard let entry = ring[place] else { fatalError("unreachable: the entry is pending") }
        if let operation = entry.operation { return operation }
        return makeOperation(for: entry, at: place)
    }

    /// Makes the operations of the blocks that a claim is being filled with.
    @inline(never)
    mutating func materialize(in filling: inout Claim.Filling) {
        filling.replaceBlocks { makeOperation(for: $0, at: $1) }
    }

    /// Takes back what workers have claimed and not begun, and then makes the operations of the
    /// blocks that they run. In the other order, a worker could begin another block in between.
    ///
    /// - Complexity: O(workers).
    mutating func materializeRunning() {
        returnAllRests()
        for claim in slots.claims { materializeRunning(in: claim) }
    }

    /// Makes the operation of the block that the owner of a claim runs, if it runs one.
    mutating func materializeRunning(in claim: Claim) {
        claim.materializeRunning { block, place in
            let reference = makeOperation(for: block, at: place)
            reference._withUnsafeGuaranteedRef { operation in
                _ = operation.exchange { $0.begunOnFastPath() }
            }
            return reference
        }
    }

    /// Makes operations for all blocks that have not ended.
    ///
    /// - Complexity: O(places).
    @inline(never)
    mutating func materializeAll() {
        materializeRunning()
        for place in ring.head..<ring.tail {
            // The other blocks have ended, or were dropped.
            guard let entry = ring[place], entry.isBlock,
                ring.isReady(place, lane: PriorityLanes.normal)
            else { continue }
            _ = makeOperation(for: entry, at: place)
        }
    }

    /// Drops the blocks that are pending. A worker releases them. If somebody observes how each
    /// operation ends, makes their operations instead.
    ///
    /// - Complexity: O(places).
    mutating func dropBlocks() {
        if records.isInstrumented || records.notifiesEach { return materializeAll() }
        let dropped = ring.moveReady(
            from: PriorityLanes.normal, to: OperationRing.cancelledLane, where: \.isBlock)
        ready.count -= dropped
        droppedCount += dropped
    }

    /// Makes the operation that the block at a place would have been from the beginning, in the
    /// state that the operation would have now: ready. The operation takes over the reference of
    /// the entry, and the place in the ring.
    private mutating func makeOperation(for block: Entry, at place: Int) -> Reference {
        let operation = BlockOperation(block: block.takeBlock().body)
        // What the calling thread is inside does not matter.
        operation.lifecycle.initialize {
            $0 = LifecycleState(usesFastPath: true)
            $0.quality = QualityOfServiceState(inferred: Int(block.rank))
        }
        _ = operation.exchange { $0.enqueued(reserved: false, qualityRank: 0) }
        operation.sequence.store(place, ordering: .relaxed)
        operation.mark.store(records.markOfBlocks, ordering: .relaxed)
        let reference = Reference.passRetained(operation)
        ring.replace(place, by: .operation(reference))
        operation.queueReference.store(queue, ordering: .releasing)
        return reference
    }
}
