import OperationsRuntime

// What the core knows of tasks. How async bodies run in tasks lies above it, in `Async/`.

/// An operation whose body runs in a task. ``TypedOperation`` is the only implementation.
protocol TaskBody: Operation {
    /// Whether a task was made together with the operation.
    var isPrepared: Bool { get }

    /// Runs the body, which has begun, in the task that was made together with the operation, in
    /// place of the worker. Returns false if there is no such task.
    func runPrepared(of claim: Claim, in queue: OperationQueue) -> Bool

    /// Starts a task for the operation, which is already executing.
    func startTask()

    /// What is known of the task that runs the body now; nil if no task does.
    var taskProgress: TaskProgress? { get }
    /// Records when the body began, because it goes on outside of its claim.
    func recordTaskStart(_ time: UInt64)

    /// Raises the urgency of the task to the raised effective quality of service.
    func promoteTask()

    /// Prepares the task for another start.
    func prepareTaskAgain()
}

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
    /// Whether the work goes on in a task after `start()` has returned.
    final var hasTask: Bool { taskBody != nil }

    /// Whether the work is over when `start()` returns to the thread that called it.
    final var runsOnItsThread: Bool { !hasTask }
}

/// What others than the task itself know of a task that runs a body.
struct TaskProgress {
    /// When the body began; 0 if that was not recorded, as for a body that is still in its claim.
    let start: UInt64
    /// The number of pieces of the body that have begun.
    let pieces: UInt64
    /// The number of the thread that runs a piece now; nil if the task is suspended, or not known.
    let thread: Int?

    /// - Parameter executor: nil if a driver runs the task, whose pieces are not known.
    init(start: UInt64, _ executor: PoolExecutor?) {
        self.start = start
        (pieces, thread) = executor?.progress ?? (0, nil)
    }
}
