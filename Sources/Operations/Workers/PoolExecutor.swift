/// Runs the tasks of asynchronous operations on the workers.
///
/// So a body that blocks is made up for like any other operation, and its pieces cost no switch to threads
/// of another pool.
final class PoolExecutor: TaskExecutor {
    static let shared = PoolExecutor()
    /// For tasks that wait for a moment. Bodies that compute may keep all processors busy, and those that are
    /// to be told that their time is over are among them.
    static let timers = PoolExecutor(urgency: .timer)

    /// Nil for that of the task.
    private let urgency: Urgency?

    private init(urgency: Urgency? = nil) { self.urgency = urgency }

    func enqueue(_ job: consuming ExecutorJob) { enqueue(UnownedJob(job)) }

    func enqueue(_ job: UnownedJob) {
        if let urgency { return WorkerPool.shared.submit(.job(job, urgency)) }
        if let context = ThreadContext.existing, context.keepsJob {
            context.keepsJob = false
            context.job = job
            return
        }
        let urgency = QualityOfServiceUse.isOn ? Urgency(job.priority) : .usual
        WorkerPool.shared.submit(.job(job, urgency))
    }

    func run(_ job: UnownedJob) {
        job.runSynchronously(on: asUnownedTaskExecutor())
    }

    /// The job of the task that `body` makes, or resumes, for the caller to run.
    @inline(__always)
    func firstJob(of body: () -> Void) -> UnownedJob? {
        let context = ThreadContext.current
        context.keepsJob = true
        body()
        context.keepsJob = false
        return context.job.take()
    }

    /// Runs the task that `body` makes, or resumes, up to where it is suspended.
    @inline(__always)
    func runHere(_ body: () -> Void) {
        if let job = firstJob(of: body) { run(job) }
    }

    /// Makes a task that runs here.
    @discardableResult
    static func start(
        _ work: @escaping @Sendable () async -> Void, priority: TaskPriority? = nil,
        on executor: any TaskExecutor = shared
    ) -> Task<Void, Never> {
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            // Up to where it first waits it runs on the calling thread, which is a worker as a rule.
            return Task.immediate(
                priority: priority, executorPreference: executor, operation: work)
        }
        return Task(executorPreference: executor, priority: priority, operation: work)
    }
}
