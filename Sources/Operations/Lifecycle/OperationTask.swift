import OperationsRuntime
import Synchronization

// What the core knows of tasks. How async bodies run in tasks lies above it, in `Async/`.

/// The task of an operation with an async body. `TaskRun` is the only subclass.
///
/// A class and not a protocol, because an operation hands it out unmanaged.
///
/// Unchecked because it is a base class; the subclass says what guards its state.
class OperationTask: @unchecked Sendable {
    /// The time at which the task was started.
    final let startTime = Atomic<UInt64>(0)

    /// Raises the urgency and the priority of the task to those of the operation, which has been
    /// promoted while it executes.
    func promote(_ operation: Operation) {}

    /// Prepares for another start.
    func prepareAgain() {}
}

/// The body of an operation, as its task sees it.
protocol RunningBody: AnyObject, Sendable {
    var queue: OperationQueue? { get }
    /// The executor of the task; nil if a driver runs the task.
    var executor: PoolExecutor? { get }
    /// The operation, if the current task is the task that runs it.
    var operation: Operation? { get }
}

extension Operation {
    /// Whether the work is over when `start()` returns to the thread that called it.
    final var runsOnItsThread: Bool { taskRun == nil }
}
