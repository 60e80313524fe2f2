import OperationsRuntime

// What the core knows of tasks. How async bodies run in tasks lies above it, in `Async/`.

/// The body of an operation, as its task sees it. `AsyncBody` is the only implementation.
protocol RunningBody: AnyObject, Sendable {
    /// The queue of the operation, while the body runs.
    var queue: OperationQueue? { get }
    /// The executor of the task; nil if a driver runs the task.
    var executor: PoolExecutor? { get }
    /// The operation, if the current task is the task that runs it.
    var operation: Operation? { get }
}

extension Operation {
    /// Whether the work is over when `start()` returns to the thread that called it.
    final var runsOnItsThread: Bool { !hasTask }
}
