import OperationsRuntime

/// The body of an operation, as its task sees it. The body of a runner stands for several
/// operations, one after the other.
///
/// Tasks that the body creates inherit this object through a task-local value and may outlive the
/// operation. Such a task must neither keep the operation alive nor be taken for its body.
final class AsyncBody: RunningBody {
    let queue: OperationQueue?
    /// The executor of the task; nil if a driver runs the task.
    let executor: PoolExecutor?
    private let running: Locked<Running>

    private struct Running {
        var operation: Operation?
        var task: UInt?
        var isCancelled = false
        /// The number of threads that are cancelling the task. The task must not end meanwhile.
        var cancellers = 0
    }

    init(_ operation: Operation, in queue: OperationQueue?, on executor: PoolExecutor?) {
        self.queue = queue
        self.executor = executor
        running = Locked(Running(operation: operation))
    }

    /// Records the current task as the task that runs this body.
    func begin() {
        let task = ThreadContext.currentTask
        running.withLock { $0.task = task }
    }

    /// Replaces the operation by the next one of the same task. Returns false if the task has been
    /// cancelled because of the previous operation.
    func proceed(with operation: Operation) -> Bool {
        var ended: Operation? = operation
        let mayProceed = running.withLock { running in
            if !running.isCancelled { swap(&running.operation, &ended) }
            return !running.isCancelled
        }
        withExtendedLifetime(ended) {}
        return mayProceed
    }

    func end() {
        let ended = running.withLock { $0.operation.take() }
        withExtendedLifetime(ended) {}
        var backoff = Backoff()
        while running.withLock({ $0.cancellers > 0 }) { backoff.pause() }
    }

    /// Cancels the task if it runs this operation. The task then runs no other operation.
    func cancel(_ operation: Operation) {
        let task: UInt? = running.withLock { running in
            guard running.operation === operation, let task = running.task else { return nil }
            running.isCancelled = true
            running.cancellers += 1
            return task
        }
        guard let task else { return }
        // Outside the lock: the call runs users' cancellation handlers.
        unsafeBitCast(task, to: UnsafeCurrentTask.self).cancel()
        running.withLock { $0.cancellers -= 1 }
    }

    /// Raises the urgency of the operation's jobs: of those that wait for a worker and of later
    /// ones.
    func raise(_ operation: Operation, to urgency: Urgency) {
        guard let executor else { return }
        let waiting = running.withLock { running in
            running.operation === operation ? executor.raised(to: urgency) : 0
        }
        executor.offerAgain(waiting, urgency)
    }

    /// The operation, if the current task is the task that runs it.
    var operation: Operation? {
        guard let task = ThreadContext.currentTask else { return nil }
        return running.withLock { $0.task == task ? $0.operation : nil }
    }
}
