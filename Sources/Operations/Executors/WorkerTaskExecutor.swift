import OperationsRuntime

/// Runs tasks on the worker threads of this library, where a task may block.
///
/// ```swift
/// Task(executorPreference: .operations) {
///     let line = readLine()  // blocks, and holds up no other task
/// }
/// ```
///
/// Swift's own thread pool has one thread for each processor: as many blocked tasks stop all tasks
/// of the process. These workers are replaced while they block (<doc:ThreadStarvation>).
///
/// The preference holds for the task, for its child tasks, and for the default actors that they
/// call. Unstructured tasks that it makes do not inherit the preference. The task's priority counts
/// as the ``QualityOfService`` of the same name.
public final class WorkerTaskExecutor: TaskExecutor {
    static let shared = WorkerTaskExecutor()
    /// Runs the jobs, under the identity of ``shared``: a job that is to run on that executor is
    /// then known to be there already.
    private static let pool = PoolExecutor(as: shared.asUnownedTaskExecutor())

    private init() { QueueRegistry.reports }

    /// Passes a piece of a task to the workers; called by Swift.
    public func enqueue(_ job: consuming ExecutorJob) {
        Self.pool.enqueue(UnownedJob(job))
    }
}

extension TaskExecutor where Self == WorkerTaskExecutor {
    /// Runs tasks on the worker threads of this library, where a task may block.
    public static var operations: WorkerTaskExecutor { .shared }
}
