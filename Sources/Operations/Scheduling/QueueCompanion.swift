import OperationsRuntime

/// A feature that accompanies one queue: the scope that the queue belongs to.
///
/// The queue calls these methods with no lock held, and knows nothing else of the feature. Doors.md
/// says when.
protocol QueueCompanion: AnyObject, AdditionStep {
    /// Called when the work of an operation has met an error and no further attempt follows. The
    /// operation is still in the queue.
    func operationFailed(_ operation: Operation, _ failure: FailureRecord, in queue: OperationQueue)

    /// Called when a task that is no operation of the queue begins to wait for the queue or for one
    /// of its operations.
    func waitBegins(in queue: OperationQueue)

    /// Called when such a wait is over.
    func waitEnded()
}

extension Operation {
    /// Tells the companion of the operation's queue that the current task begins to wait for the
    /// operation. The companion also learns of a wait for an operation that has already failed:
    /// what follows from a failure must not depend on which thread was quicker.
    final func companionOfWait() -> (any QueueCompanion)? {
        if status.phase != .finished, let queue = retainedQueue() { return queue.waitBegins() }
        guard status.outcome != .succeeded, existingExtras != nil else { return nil }
        return withExtras { $0.failure ?? $0.upstreamFailure }?.deciding?.waitBegins()
    }
}

extension OperationQueue {
    /// Tells the driver and the companion that the current task begins to wait for the queue, or
    /// for one of its operations. Returns the companion, which must learn of the end of the wait;
    /// nil if there is none, or if the task is an operation of the queue.
    final func waitBegins() -> (any QueueCompanion)? {
        driver?.waitBegins(in: self)
        guard let companion, TaskContext.queue !== self else { return nil }
        companion.waitBegins(in: self)
        return companion
    }
}

/// Tasks in which the operations of a queue run, because these inherit from another task.
protocol QueueTasks: AnyObject, Sendable {
    /// Runs the best operations of the queue in one of the tasks, on the calling worker.
    func run(_ queue: OperationQueue, offered urgency: Urgency)
}
