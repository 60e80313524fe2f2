/// The body of an operation, for the task that runs it; a runner's runs several, one after the other.
///
/// Other tasks that the body makes inherit it, and may outlive the operation: they must neither keep the
/// operation nor be taken for its body.
final class AsyncBody: Sendable {
    let queue: OperationQueue?
    /// That of the task; nil if a driver runs it.
    let executor: PoolExecutor?
    private let running: Locked<Running>

    private struct Running {
        var operation: Operation?
        var task: UInt?
        var isCancelled = false
        /// Who is cancelling the task; it must not end meanwhile.
        var cancellers = 0
    }

    init(_ operation: Operation, in queue: OperationQueue?, on executor: PoolExecutor?) {
        self.queue = queue
        self.executor = executor
        running = Locked(Running(operation: operation))
    }

    /// The current task is the one that runs it.
    func begin() {
        let task = TaskContext.currentTask
        running.withLock { $0.task = task }
    }

    /// Lets the task go on with another operation; false if it has been cancelled, for the one before.
    func goOn(with operation: Operation) -> Bool {
        var ended: Operation? = operation
        let mayGoOn = running.withLock { running in
            if !running.isCancelled { swap(&running.operation, &ended) }
            return !running.isCancelled
        }
        withExtendedLifetime(ended) {}
        return mayGoOn
    }

    func end() {
        let ended = running.withLock { $0.operation.take() }
        withExtendedLifetime(ended) {}
        var backoff = Backoff()
        while running.withLock({ $0.cancellers > 0 }) { backoff.pause() }
    }

    /// Cancels the task if it runs this operation; then it runs no other.
    func cancel(_ operation: Operation) {
        let task: UInt? = running.withLock { running in
            guard running.operation === operation, let task = running.task else { return nil }
            running.isCancelled = true
            running.cancellers += 1
            return task
        }
        guard let task else { return }
        // Without the lock: this calls handlers of users.
        unsafeBitCast(task, to: UnsafeCurrentTask.self).cancel()
        running.withLock { $0.cancellers -= 1 }
    }

    /// The operation has become more urgent: so are its pieces that wait for a worker, and those to come.
    func raise(_ operation: Operation, to urgency: Urgency) {
        guard let executor else { return }
        let waiting = running.withLock { running in
            running.operation === operation ? executor.raised(to: urgency) : 0
        }
        executor.offerAgain(waiting, urgency)
    }

    /// The operation, if the current task is the one that runs it.
    var operation: Operation? {
        guard let task = TaskContext.currentTask else { return nil }
        return running.withLock { $0.task == task ? $0.operation : nil }
    }
}
