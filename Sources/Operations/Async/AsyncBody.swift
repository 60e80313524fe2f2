import OperationsRuntime
import Synchronization

/// The body of an operation, as its task sees it. The body of a runner stands for several
/// operations, one after the other.
///
/// Tasks that the body creates inherit this object through a task-local value and may outlive the
/// operation. Such a task must neither keep the operation or its queue alive nor be taken for the
/// operation's body.
///
/// Unchecked: `currentQueue` is guarded by `lock`, and `currentOperation` is accessed only by the
/// task that runs the body.
final class AsyncBody: RunningBody, @unchecked Sendable {
    /// The time at which the body began, for a body that goes on outside of its claim.
    let startTime = Atomic<UInt64>(0)
    /// The executor of the task; nil if a driver runs the task.
    let executor: PoolExecutor?
    private let lock = SpinLock()
    @exclusivity(unchecked)
    private var currentQueue: OperationQueue?
    @exclusivity(unchecked)
    private var currentOperation: Unmanaged<Operation>?
    private let task = Atomic<UInt>(0)
    private let isCancelled = Atomic<Bool>(false)
    /// The number of threads that are cancelling the task. The task must not end meanwhile.
    private let cancellers = Atomic<Int>(0)

    init(on executor: PoolExecutor?) { self.executor = executor }

    /// Records the current task as the task that runs this body.
    func begin() { task.store(ThreadContext.currentTask ?? 0, ordering: .relaxed) }

    /// Records that the body of an operation begins, or that of another attempt. The operation is
    /// alive until ``leave()``.
    func enter(_ operation: Unmanaged<Operation>, of queue: OperationQueue?) {
        currentOperation = operation
        lock.withLock { currentQueue = queue }
    }

    /// Records that the task goes from one operation to another operation of the same queue.
    func proceed(to operation: Unmanaged<Operation>) { currentOperation = operation }

    /// Records that the body has ended.
    func leave() {
        currentOperation = nil
        let queue = lock.withLock { currentQueue.take() }
        withExtendedLifetime(queue) {}
    }

    /// Waits until no thread is cancelling the task, which is about to end.
    func end() {
        var backoff = Backoff()
        while cancellers.load(ordering: .acquiring) > 0 { backoff.pause() }
    }

    // MARK: For other threads

    /// Marks the task as one to be cancelled, so that it runs no other operation and does not end
    /// before ``cancelMarked()``. Called while the operation to cancel cannot leave this body.
    func markCancelled() {
        cancellers.add(1, ordering: .relaxed)
        isCancelled.store(true, ordering: .relaxed)
    }

    /// Cancels the task, which calls users' cancellation handlers.
    func cancelMarked() {
        unsafeBitCast(task.load(ordering: .relaxed), to: UnsafeCurrentTask.self).cancel()
        cancellers.subtract(1, ordering: .releasing)
    }

    /// Whether the task has been cancelled on behalf of an operation. Exact for the task itself,
    /// when it has taken the operation out of this body.
    var isMarkedCancelled: Bool { isCancelled.load(ordering: .relaxed) }

    /// Raises the urgency of the body's jobs: of those that wait for a worker and of later ones.
    /// Returns how many jobs the caller then has to offer again.
    func raise(to urgency: Urgency) -> Int { executor?.raised(to: urgency) ?? 0 }

    /// What is known of the task.
    var progress: TaskProgress {
        TaskProgress(start: startTime.load(ordering: .relaxed), executor)
    }

    var queue: OperationQueue? { lock.withLock { currentQueue } }

    /// The operation, if the current task is the task that runs it.
    var operation: Operation? {
        guard let current = ThreadContext.currentTask, current == task.load(ordering: .relaxed)
        else { return nil }
        return currentOperation?.takeUnretainedValue()
    }
}
