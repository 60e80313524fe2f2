import Synchronization

// The steps of an operation's life, each one event of its state and then what follows from it. The
// order of the steps, and why none is lost, is in Scheduling.md.

extension Operation {
    // MARK: Becoming ready

    /// Hands the operation to its queue if it may start now.
    func considerStarting() {
        let (mayBeFiled, isCancelled) = state.withLock { ($0.mayBeFiled, $0.isCancelled) }
        guard mayBeFiled, isCancelled || isReady else { return }
        guard let filing = state.withLock({ $0.readinessConfirmed() }) else { return }
        filing.queue.file(
            ReadyList.Entry(operation: self, ticket: filing.ticket, order: filing.order),
            lane: filing.lane)
    }

    func claim(ticket: UInt64, takesSlot: Bool) -> Bool {
        state.withLock { $0.claimed(ticket: ticket, takesSlot: takesSlot) }
    }

    func isFiled(ticket: UInt64) -> Bool {
        state.withLock { $0.isFiled(ticket: ticket) }
    }

    // MARK: Running

    /// Runs a claimed operation on the calling thread.
    func runClaimed(in queue: OperationQueue) {
        // Asked of the state, not of a possible override: it must be the answer that filed it.
        guard state.withLock({ $0.isCancelled }) || isReady else {
            if state.withLock({ $0.claimReturned() }) { queue.returnSlot() }
            considerStarting()
            return
        }
        guard state.withLock({ $0.startingFromQueue() }) else { return }
        ThreadContext.withOperation(self, of: queue) { start() }
        // A subclass may have finished inside `start()` without a word about it.
        finishIfReported()
    }

    /// What the default `start()` does before `main()`; false if there is nothing to run.
    final func beginExecuting() -> Bool {
        switch state.withLock({ $0.phase }) {
        case .finished: return false
        case .executing: misuse("\(self) is already executing: start an operation only once")
        case .created where !(isCancelled || isReady):
            misuse("\(self) is not ready: \(unreadinessReason); start it when isReady is true")
        case .created, .waiting, .filed, .claimed, .starting: break
        }
        let isCancelled = self.isCancelled
        switch state.withLock({ $0.startRequested(isCancelled: isCancelled) }) {
        case .begun: return true
        case .alreadyFinished: return false
        case .finishWithoutMain:
            finish()
            return false
        case .executing:
            misuse("\(self) was started by two threads at the same time: start it only once")
        case .enqueued:
            misuse("\(self) is in a queue, which will start it: do not call start() yourself")
        }
    }

    private var unreadinessReason: String {
        let unfinished = dependencies.filter { !$0.isFinished }.map(\.label)
        if unfinished.isEmpty { return "its isReady is overridden and says no" }
        return "it waits for \(unfinished.joined(separator: ", "))"
    }

    // MARK: Cancelling

    final func markCancelled() {
        state.withLock { $0.cancelRequested() }
    }

    /// Keeps the operation from beginning its work, without telling anybody yet.
    final func doom() {
        state.withLock { $0.doomed() }
    }

    // MARK: Finishing

    /// Ends the operation if `isFinished`, possibly overridden, says that it is over.
    final func finishIfReported() {
        if state.withLock({ $0.phase != .finished }), isFinished { finish() }
    }

    /// Ends the operation; the first call does, later ones change nothing.
    final func finish() {
        guard let ending = end() else { return }
        for waiter in ending.waiters { waiter.wake() }
        for dependent in ending.dependents { dependent.operation?.dependencyFinished(self) }
        if let block = ending.completionBlock { WorkerPool.shared.submit(.block(block)) }
    }
}

extension Operation {
    /// The state's part of finishing: together with the queue's, if there is one by then.
    private func end() -> OperationState.Ending? {
        while true {
            if let queue = state.withLock({ $0.queue }) { return queue.remove(self) }
            // It may be enqueued at this moment; then the queue has to know.
            let result: (isDecided: Bool, ending: OperationState.Ending?) = state.withLock {
                state in
                state.queue == nil ? (true, state.finished()) : (false, nil)
            }
            if result.isDecided { return result.ending }
        }
    }
}

/// Stops the program because of a mistake in its code.
func misuse(_ sentence: String) -> Never {
    fatalError("Operations: \(sentence).")
}
