import OperationsRuntime

/// Runs tasks in an operation queue: under its width, its order, its suspension.
///
/// ```swift
/// try await withTaskExecutorPreference(database.executor) {
///     try await importAll(files)  // also what this calls
/// }
/// ```
///
/// Each piece of a task, from where the task becomes runnable to where it suspends, is one
/// operation of the queue. So a piece takes a slot of the queue's width, and is found in
/// ``OperationQueue/operations``, in explanations and in telemetry. A task that awaits takes no
/// slot: **a width of 1 is no lock across an `await`**. To keep a slot until an async function has
/// returned, add the function to the queue.
///
/// - Among the pieces that wait, the priority of the task decides, as the
///   ``Operation/queuePriority`` and the ``Operation/qualityOfService`` of the piece. Raising the
///   priority of the task later does not affect a piece that waits.
/// - A suspended queue holds the pieces back. ``OperationQueue/cancelAllOperations()`` does not
///   affect them: cancel the task.
/// - Swift does not tell an executor the name of a task. Name the pieces of a task with
///   ``OperationQueue/executor(named:)``.
/// - Inside a piece ``OperationQueue/current`` is the queue, and ``Operation/current`` is nil.
///
/// The executor keeps the queue. With ``OperationQueue/main``, tasks run on the main thread.
public final class QueueTaskExecutor: TaskExecutor {
    /// The queue that runs the tasks.
    public let queue: OperationQueue
    /// The name of the operations that run pieces of tasks.
    fileprivate let name: String?

    fileprivate init(_ queue: OperationQueue, name: String? = nil) {
        (self.queue, self.name) = (queue, name)
    }

    /// Adds a piece of a task to the queue; called by Swift.
    public func enqueue(_ job: consuming ExecutorJob) {
        // Not `addOperation`, which a subclass may override: nothing may drop the job.
        queue.enqueue(TaskPiece(UnownedJob(job), of: self))
    }
}

extension OperationQueue {
    /// Runs tasks in this queue; see ``QueueTaskExecutor``.
    ///
    /// The same object for as long as anything keeps it.
    public final var executor: QueueTaskExecutor {
        attachment(orMake: ExecutorReference.init).executor(of: self)
    }

    /// Makes an executor that runs tasks in this queue, as operations with a name.
    ///
    /// ```swift
    /// Task(name: "import", executorPreference: queue.executor(named: "import")) { … }
    /// ```
    public final func executor(named name: String) -> QueueTaskExecutor {
        QueueTaskExecutor(self, name: name)
    }
}

/// The executor of a queue, for as long as it exists. The queue must not keep it, because it keeps
/// the queue.
private final class ExecutorReference: Sendable {
    private struct Reference { weak var executor: QueueTaskExecutor? }

    private let reference = Locked(Reference())

    func executor(of queue: OperationQueue) -> QueueTaskExecutor {
        reference.withLock { reference in
            if let executor = reference.executor { return executor }
            let new = QueueTaskExecutor(queue)
            reference.executor = new
            return new
        }
    }
}

/// The operation that runs a task from where it becomes runnable to where it suspends.
///
/// A task whose job is dropped would never end. So nothing drops the job: an operation that was
/// cancelled runs it all the same. For that, this class overrides `start()`, which a queue calls
/// for cancelled operations too, once they have a slot.
private final class TaskPiece: Operation, @unchecked Sendable {
    // Unchecked: only the thread that runs the operation takes the job.

    private var job: UnownedJob?
    private let executor: QueueTaskExecutor

    init(_ job: UnownedJob, of executor: QueueTaskExecutor) {
        self.job = job
        self.executor = executor
        super.init()
        if let name = executor.name { self.name = name }
        // A new operation infers a quality from the thread that resumes the task, which has nothing
        // to do with the task.
        if let quality = QualityOfService(job.priority) {
            qualityOfService = quality
            queuePriority = quality.priorityOfPieces
        }
    }

    override var isPieceOfTask: Bool { true }

    override func start() {
        if isCancelled { run() }
        super.start()
        // Cancelled just before it could begin.
        run()
    }

    override func main() { run() }

    private func run() {
        job.take()?.runSynchronously(on: executor.asUnownedTaskExecutor())
    }
}

extension QualityOfService {
    /// The priority of pieces of tasks among the operations of their queue.
    fileprivate var priorityOfPieces: Operation.QueuePriority {
        switch self {
        case .background: .veryLow
        case .utility: .low
        case .userInitiated: .high
        case .userInteractive: .veryHigh
        case .default: .normal
        }
    }
}
