// The limit of a queue's operations. An addition first asks for room, in one hold of the lock. If
// there is none, the operation that has to go is chosen in the same hold. So the rule holds however
// many threads add operations. See "Operations that a full queue drops" in Cancellation.md.

import OperationsRuntime
import Synchronization

extension OperationQueue {
    /// What becomes of operations that are added while the queue is full; nil, for a queue without
    /// a limit, unless set.
    ///
    /// ```swift
    /// frames.overflow = .dropOldest(capacity: 8)
    /// ```
    ///
    /// All operations count, waiting and running, but not barriers. Only operations that wait are
    /// dropped: an operation that has begun goes on, also if it waits for another attempt. If all
    /// others have begun, the operation that is added is dropped: so let the capacity be larger
    /// than the width. A dropped operation is cancelled with the reason
    /// ``CancellationReason/displaced(capacity:)``, finishes as cancelled operations do, and no
    /// longer counts. Pieces of tasks (``executor``) count and are never dropped.
    ///
    /// When the addition returns, a dropped operation has left the queue, and its body is released.
    /// So however fast threads add, the queue keeps about as much as it may hold. The thread that
    /// adds releases the body, unless a worker is just ending the operation; it must hold no lock
    /// that the `deinit` of a captured object takes. As after every cancellation, an operation
    /// leaves later if it overrides ``Operation/start()``, or if its override of
    /// ``Operation/isReady`` returns false.
    ///
    /// The limit holds from the next addition on: setting it cancels nothing. Setting the overflow
    /// of ``main`` has no effect. For one addition, there are `add(_:capacity:within:body:)`, which
    /// waits, and `tryAdd(_:capacity:body:)`, which returns nil. In a queue that drops the newest
    /// operations, they wait for this capacity as well, or return nil.
    ///
    /// - Complexity: an addition takes O(workers that run operations of the queue), amortized.
    ///   Setting a limit takes O(operations and blocks in the queue), in short holds of the lock.
    public final var overflow: OperationQueueOverflow? {
        get { snapshot { $0.limits?.limit } }
        set {
            guard !isMain else { return }
            if newValue != nil, event({ $0.beginLimiting() }) { exemptNodes() }
            event { state in
                state.endLimiting(with: newValue)
                if newValue == nil {
                    removeStepUnderLock(.limiting)
                } else {
                    insertUnderLock(LimitingStep())
                }
            }
        }
    }

    /// Adds an operation that is reserved for this queue, and drops what has to go for it.
    fileprivate func addWithinLimit(
        _ operation: Operation, next: AdditionStep.Next
    ) throws(OperationMisuse) {
        let (dropped, isRejected) = makeRoom(for: operation)
        try next(Addition(of: [operation], isReserved: true))
        if operation.status.phase == .finished, !operation.wasAdded(to: self) {
            // The operation has ended by itself when it was cancelled.
            forgetAddition(of: operation)
        } else if isRejected {
            let isTaken = snapshot { $0.limits?.isTaken(operation) == true }
            end(Dropped(operation: operation, isTaken: isTaken))
        }
        // Only now: otherwise the queue could be empty in between, and waits for it would end.
        for other in dropped { end(other) }
    }

    /// An operation that was cancelled for lack of room, and whether this thread has taken it.
    private struct Dropped {
        let operation: Operation
        let isTaken: Bool
    }

    /// Makes room for an operation that is about to be added, or cancels it if there is none.
    private func makeRoom(for operation: Operation) -> (dropped: [Dropped], isRejected: Bool) {
        var dropped: [Dropped] = []
        while true {
            switch eventOffering({ $0.makeRoom(for: operation) }) {
            case .room: return (dropped, false)
            case .none(let capacity):
                operation.forceCancel(because: .displaced(capacity: capacity))
                return (dropped, true)
            case .searching: break
            case .taking(let other, let capacity):
                _ = other.keepFromBeginning(because: .displaced(capacity: capacity))
                CancelRound.cancel([other])
                return (dropped + [Dropped(operation: other, isTaken: true)], false)
            case .displacing(let other, let capacity):
                let isDropped = other.keepFromBeginning(because: .displaced(capacity: capacity))
                event { $0.limits?.dropWasDecided(of: other, isDropped) }
                // Otherwise that operation has begun meanwhile.
                if isDropped {
                    CancelRound.cancel([other])
                    dropped.append(Dropped(operation: other, isTaken: false))
                }
            }
        }
    }

    /// Ends a dropped operation as a worker would, without its body, unless a worker does.
    ///
    /// The body is released at once, also if this thread is inside another operation, which may add
    /// many more.
    private func end(_ dropped: Dropped) {
        let operation = dropped.operation
        guard dropped.isTaken || event({ $0.takeDropped(operation) }),
            operation.status.phase != .finished
        else { return }
        operation.willEndUnbegun()
        operation.finish(releasesBodyHere: true)
    }

    /// Records that there is room for an operation, because capacity was reserved for it. Returns
    /// false if the queue has no limit.
    final func expect(_ operation: Operation) -> Bool {
        guard hasStep(.limiting) else { return false }
        return event { state in
            state.limits?.expect(operation)
            return state.limits != nil
        }
    }

    /// Forgets an operation that is not about to be added any more.
    final func forgetAddition(of operation: Operation) {
        event { state in
            state.limits?.forgetAddition(of: operation)
            state.dropRoomIfUnused()
        }
    }

    /// Keeps the nodes of graphs that have begun from being dropped. Nodes that are added later are
    /// kept from that in the hold of the lock that adds them.
    private func exemptNodes() {
        let nodes = operationsAtWork().flatMap(\.nodesAsOperations)
        for start in stride(from: 0, to: nodes.count, by: Self.additionsAtOnce) {
            let part = nodes[start..<min(start + Self.additionsAtOnce, nodes.count)]
            event { $0.exempt(part) }
        }
    }
}

extension AdditionTurn {
    fileprivate static var limiting: AdditionTurn { AdditionTurn(rank: 40) }
}

/// Keeps a queue below its limit; see ``OperationQueue/overflow``.
private struct LimitingStep: AdditionStep {
    var turn: AdditionTurn { .limiting }

    func add(
        _ addition: Addition, to queue: OperationQueue, next: Next
    ) throws(OperationMisuse) {
        // One by one: an operation may displace one that was added before it.
        for operation in addition.operations {
            try queue.addWithinLimit(operation, next: next)
        }
    }
}
