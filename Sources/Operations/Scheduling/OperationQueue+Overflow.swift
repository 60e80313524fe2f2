// The limit of a queue's operations. An addition first asks for room, in one hold of the lock. If
// there is none, the operation that has to go is chosen in the same hold, and is cancelled after
// it. So the rule holds however many threads add operations.

import OperationsRuntime

extension OperationQueue {
    /// What becomes of operations that are added while the queue is full; nil, for a queue without
    /// a limit, unless set.
    ///
    /// ```swift
    /// frames.overflow = .dropOldest(capacity: 8)
    /// ```
    ///
    /// All operations count, waiting and running, but not barriers. Only operations that wait are
    /// dropped: an operation that has begun goes on. If all others have begun, the operation that
    /// is added is dropped: so let the capacity be larger than the width. A dropped operation is
    /// cancelled with the reason ``CancellationReason/displaced(capacity:)``, finishes as cancelled
    /// operations do, and no longer counts. Pieces of tasks (``executor``) count and are never
    /// dropped.
    ///
    /// The limit holds from the next addition on: setting it cancels nothing. Setting the overflow
    /// of ``main`` has no effect. For one addition, there are `add(_:capacity:within:body:)`, which
    /// waits, and `tryAdd(_:capacity:body:)`, which returns nil. In a queue that drops the newest
    /// operations, they wait for this capacity as well, or return nil.
    ///
    /// - Complexity: an addition takes O(dropped operations that have not left the queue). With
    ///   ``OperationQueueOverflow/dropOldest(capacity:)``, one to a full queue also takes O(running
    ///   operations).
    public final var overflow: OperationQueueOverflow? {
        get { snapshot { $0.overflow?.setting } }
        set {
            guard !isMain else { return }
            // The claims return what they have not begun, which another worker may then take.
            let nodes = eventOffering { state in
                let isFirst = newValue != nil && state.overflow == nil
                if isFirst { state.overflow = OverflowState() }
                state.overflow?.setting = newValue
                state.decideAboutBlocks()
                // The queue can drop operations, and no blocks.
                if newValue != nil { state.materializeAll() }
                AdditionSteps.limiting.set(newValue != nil, in: self)
                return isFirst ? state.exemptNodes() : []
            }
            // These may be the last references to operations that have ended meanwhile.
            withExtendedLifetime(nodes) {}
        }
    }

    /// Makes room for an operation that is about to be added, or cancels it if there is none.
    final func makeRoom(for operation: Operation) {
        while true {
            switch event({ $0.makeRoom(for: operation) }) {
            case .room: return
            case .none(let capacity):
                return operation.forceCancel(because: .displaced(capacity: capacity))
            case .displacing(let other, let capacity):
                if other.keepFromBeginning(because: .displaced(capacity: capacity)) {
                    CancelRound.cancel([other])
                    continue
                }
                // That operation has begun meanwhile.
                event { _ = $0.overflow?.displaced.removeValue(forKey: ObjectIdentifier(other)) }
            }
        }
    }

    /// Records that there is room for an operation, because capacity was reserved for it.
    final func expect(_ operation: Operation) {
        guard AdditionSteps.of(self).contains(.limiting) else { return }
        event { _ = $0.overflow?.arriving.insert(ObjectIdentifier(operation)) }
    }
}

extension Operation {
    /// Marks the operation, unless it has begun, so that it will not begin. Returns whether that is
    /// so; the caller must then cancel it by a ``CancelRound``.
    final func keepFromBeginning(because reason: CancellationReason) -> Bool {
        withExtras { extras in
            // Who reads the reason takes this lock, so both change together.
            guard exchange({ $0.keptFromBeginning() }) != nil else { return false }
            if extras.cancellationReason == nil, !status.has(.cancelled) {
                extras.cancellationReason = reason
            }
            return true
        }
    }
}

extension LifecycleState {
    /// The operation must not begin, if it has not. An operation that is to be cancelled anyway
    /// counts as kept from that, too.
    fileprivate mutating func keptFromBeginning() -> Actions? {
        switch phase {
        case .starting, .executing, .finished: return nil
        case .created, .waiting, .checkingReadiness, .queued:
            insert(.cancellationPending)
            return []
        }
    }
}

extension QueueState {
    enum Room {
        case room
        /// The caller must cancel this operation, and ask again.
        case displacing(Operation, capacity: Int)
        /// There is no room: nothing waits that could go instead.
        case none(capacity: Int)
    }

    /// Finds room for an operation that is about to be added.
    mutating func makeRoom(for operation: Operation) -> Room {
        let id = ObjectIdentifier(operation)
        guard let setting = overflow?.setting, !operation.isNeverDisplaced,
            overflow?.arriving.contains(id) != true
        else { return .room }
        let count =
            operationCount + capacityQueue.reservationCount + (overflow?.correction ?? 0)
        if count < setting.capacity {
            overflow?.arriving.insert(id)
            return .room
        }
        if setting.dropsOldest, let oldest = oldestToDisplace() {
            overflow?.displaced[ObjectIdentifier(oldest)] = .passUnretained(oldest)
            return .displacing(oldest, capacity: setting.capacity)
        }
        overflow?.rejected.insert(id)
        return .none(capacity: setting.capacity)
    }

    /// Keeps the nodes of graphs that have begun from being dropped. Nodes that are added later are
    /// kept from that in the hold of the lock that adds them.
    ///
    /// - Returns: the nodes, which the caller releases once it has released the lock.
    mutating func exemptNodes() -> [Operation] {
        var nodes: [Operation] = []
        for place in ring.head..<ring.tail {
            ring[place]?.operation?._withUnsafeGuaranteedRef { nodes += $0.nodesAsOperations }
        }
        if nodes.isEmpty { return [] }
        // A run forgets its nodes only when they have ended, and some may have left the queue.
        let ids = Set(nodes.map { ObjectIdentifier($0) })
        for place in ring.head..<ring.tail {
            guard let operation = ring[place]?.operation else { continue }
            let id = operation._withUnsafeGuaranteedRef { ObjectIdentifier($0) }
            if ids.contains(id) { overflow?.exempt.insert(id) }
        }
        return nodes
    }

    private func oldestToDisplace() -> Operation? {
        for place in ring.head..<ring.tail {
            guard let operation = ring[place]?.operation?.takeUnretainedValue() else { continue }
            let (id, state) = (ObjectIdentifier(operation), operation.status)
            if !state.isAtWork, state.phase != .finished, !operation.isNeverDisplaced,
                overflow?.displaced[id] == nil, overflow?.exempt.contains(id) != true
            {
                return operation
            }
        }
        return nil
    }

    /// Records that an operation is in the queue.
    mutating func arrivedInRoom(_ operation: Operation) {
        let id = ObjectIdentifier(operation)
        overflow?.arriving.remove(id)
        if overflow?.rejected.remove(id) != nil {
            overflow?.displaced[id] = .passUnretained(operation)
        }
    }

    /// Forgets operations that are not about to be added any more. Those that were added are not
    /// affected.
    mutating func forgetRoom(for operations: [Operation]) {
        guard overflow != nil else { return }
        for operation in operations {
            overflow?.arriving.remove(ObjectIdentifier(operation))
            overflow?.rejected.remove(ObjectIdentifier(operation))
        }
    }
}

extension Operation {
    /// Whether the queue must not drop the operation: it is a barrier, or runs a piece of a task.
    fileprivate final var isNeverDisplaced: Bool { status.has(.barrier) || isPieceOfTask }
}
