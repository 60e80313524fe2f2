import Synchronization

/// Where a queue's operations run.
enum QueueExecutor {
    case workers
    case mainThread

    /// Takes a reference to a queue that has something runnable.
    func schedule(_ queue: OperationQueue) {
        switch self {
        case .workers: WorkerPool.shared.submit(.queue(queue))
        case .mainThread: MainThread.perform { queue.runNext() }
        }
    }
}

// The queue's side of the scheduling protocol; see Scheduling.md.

extension OperationQueue {
    /// One event of the state; what became stale by it is let go of after the lock is released.
    private func event<Result: Sendable>(_ body: (inout QueueState) -> Result) -> Result {
        let (result, discarded) = state.withLock { state in
            let result = body(&state)
            defer { state.discarded = [] }
            return (result, state.discarded)
        }
        withExtendedLifetime(discarded) {}
        return result
    }

    func drawOrder() -> UInt64 {
        state.withLock { $0.sequenceDrawn() }
    }

    func add(_ operations: [Operation]) {
        for operation in operations { enqueue(operation) }
        for operation in operations { operation.considerStarting() }
    }

    func enqueue(_ operation: Operation) {
        // A subclass that keeps its own state may have been started by hand.
        if operation.isExecuting { misuseOfExecuting(operation) }
        if operation.isFinished { misuseOfFinished(operation) }
        let result = state.withLock { state in
            let sequence = state.sequenceDrawn()
            let result = operation.state.withLock { $0.enqueued(in: self, sequence: sequence) }
            if result == .accepted { state.operationAdded(operation, sequence: sequence) }
            return result
        }
        switch result {
        case .accepted: break
        case .alreadyInQueue:
            misuse("\(operation) is in a queue already: make a new operation for each addition")
        case .executing: misuseOfExecuting(operation)
        case .finished: misuseOfFinished(operation)
        }
    }

    private func misuseOfExecuting(_ operation: Operation) -> Never {
        misuse("\(operation) is executing already: add it to a queue or start it, not both")
    }

    private func misuseOfFinished(_ operation: Operation) -> Never {
        misuse("\(operation) has finished, and runs only once: make a new operation")
    }

    func file(_ entry: ReadyList.Entry, lane: ReadyList.Lane) {
        if event({ $0.operationFiled(entry, lane: lane) }) { executor.schedule(self) }
    }

    func change(_ change: QueueState.Change) {
        guard executor == .workers else { return }
        if state.withLock({ $0.changed(change) }) { executor.schedule(self) }
    }

    /// Runs the best operation, if there is one, on the calling thread.
    func runNext() {
        let claim = event { $0.executorAsked() }
        if claim.offersAgain { executor.schedule(self) }
        claim.operation?.runClaimed(in: self)
    }

    func returnSlot() {
        if state.withLock({ $0.slotReturned() }) { executor.schedule(self) }
    }

    /// Ends an operation and takes it off the list, in one step.
    func remove(_ operation: Operation) -> OperationState.Ending? {
        let result: (OperationState.Ending, QueueState.Departure)? = event { state in
            let (ending, sequence) = operation.state.withLock { ($0.finished(), $0.sequence) }
            guard let ending else { return nil }
            let departure = state.operationLeft(
                sequence: sequence, gaveBackSlot: ending.gaveBackSlot)
            return (ending, departure)
        }
        guard let (ending, departure) = result else { return nil }
        if departure.offers { executor.schedule(self) }
        for waiter in departure.waiters { waiter.wake() }
        return ending
    }
}
