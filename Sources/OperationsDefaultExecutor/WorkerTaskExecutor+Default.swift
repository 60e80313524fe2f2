#if DefaultExecutor && compiler(>=6.3) && !canImport(Darwin)
public import Operations
import OperationsRuntime
@_spi(ExperimentalCustomExecutors) @_spi(ExperimentalScheduling) import _Concurrency

extension WorkerTaskExecutor {
    /// Makes the workers of this library run all tasks of the process that prefer no other
    /// executor. A task that blocks then holds up no other task, even if a library has made it.
    ///
    /// ```swift
    /// import OperationsDefaultExecutor
    ///
    /// WorkerTaskExecutor.installAsDefault()  // the first statement of the program
    /// ```
    ///
    /// Call it before anything else: a task that has begun on Swift's own pool stays there until it
    /// suspends. The main actor, actors with executors of their own, and the threads of Dispatch
    /// and Foundation are not affected. `Task.sleep` uses the timers of Swift, as before. Only the
    /// first call has an effect.
    ///
    /// **Experimental.** The interface of Swift for default executors may change with any release
    /// of the compiler. Libraries must not call this method: it decides for the whole process.
    public static func installAsDefault() { install }

    private static let install: Void = _createExecutors(factory: Factory.self)
}

private struct Factory: ExecutorFactory {
    static var mainExecutor: any MainExecutor { PlatformExecutorFactory.mainExecutor }
    static var defaultExecutor: any TaskExecutor { DefaultExecutor.shared }
}

/// Passes the jobs of tasks to the workers. Exists for as long as the process.
private final class DefaultExecutor: TaskExecutor, SchedulingExecutor {
    static let shared = DefaultExecutor()
    private static let pool = PoolExecutor(as: shared.asUnownedTaskExecutor())

    func enqueue(_ job: consuming ExecutorJob) { Self.pool.enqueue(UnownedJob(job)) }

    /// Leaves the waiting to Swift's own executor, whose timers know the clocks.
    func enqueue<C: Clock>(
        _ job: consuming ExecutorJob, after delay: C.Duration, tolerance: C.Duration?, clock: C
    ) {
        guard let platform = PlatformExecutorFactory.defaultExecutor as? any SchedulingExecutor
        else { fatalError("Operations: this version of Swift cannot schedule tasks") }
        platform.enqueue(
            job.createTrampoline(to: self), after: delay, tolerance: tolerance, clock: clock)
    }
}
#endif
