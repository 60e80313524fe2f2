/// Runs the tasks of asynchronous operations on the workers.
///
/// So a body that blocks is made up for like any other operation, and its pieces cost no switch to threads
/// of another pool.
///
/// A body's task has an executor of its own, which knows how urgent the operation is: the priority of a task
/// cannot say it, because the system gives tasks no higher one than `userInitiated`, and what waits for a
/// worker does not change its place when the task's priority is raised.
final class PoolExecutor: TaskExecutor {
    /// For tasks that are no bodies: their own priority says how urgent they are.
    static let shared = PoolExecutor(.ofTask)
    /// For tasks that wait for a moment. Bodies that compute may keep all processors busy, and those that are
    /// to be told that their time is over are among them.
    static let timers = PoolExecutor(.ofTimer)

    private enum Rule { case ofBody, ofTask, ofTimer }

    private struct Waiting {
        /// Of the body.
        var urgency = Urgency.usual
        /// Its pieces that wait for a worker. For each the pool has at least one reference to this executor.
        var jobs = FIFO<UnownedJob>()

        /// How many have to be offered again: all that wait, if they have become more urgent.
        mutating func change(to urgency: Urgency) -> Int {
            defer { self.urgency = urgency }
            return urgency > self.urgency ? jobs.count : 0
        }
    }

    private let rule: Rule
    private let waiting = Locked(Waiting())

    private init(_ rule: Rule) { self.rule = rule }

    /// Makes one for a task that runs bodies.
    convenience init() { self.init(.ofBody) }

    func enqueue(_ job: consuming ExecutorJob) { enqueue(UnownedJob(job)) }

    func enqueue(_ job: UnownedJob) {
        if rule == .ofTimer { return WorkerPool.shared.submit(.job(job, self, .timer)) }
        if let context = ThreadContext.existing, context.keepsJob {
            context.keepsJob = false
            context.job = job
            return
        }
        guard QualityOfServiceUse.isOn else {
            return WorkerPool.shared.submit(.job(job, self, .usual))
        }
        let urgency = Urgency(job.priority)
        guard rule == .ofBody else { return WorkerPool.shared.submit(.job(job, self, urgency)) }
        // A child task may matter more than the body does.
        let highest = waiting.withLock { waiting in
            waiting.jobs.append(job)
            return max(urgency, waiting.urgency)
        }
        WorkerPool.shared.submit(.nextJob(self, highest))
    }

    // MARK: The body

    /// The task is about to run another body.
    func begins(with urgency: Urgency) {
        offerAgain(waiting.withLock { $0.change(to: urgency) }, urgency)
    }

    /// The body has become more urgent; what this returns is for ``offerAgain(_:_:)``, with no lock held.
    func raised(to urgency: Urgency) -> Int {
        waiting.withLock { $0.urgency < urgency ? $0.change(to: urgency) : 0 }
    }

    /// Hands pieces that wait for a worker to the pool once more, more urgently. Whoever comes with the older
    /// reference finds one less.
    func offerAgain(_ count: Int, _ urgency: Urgency) {
        for _ in 0..<count { WorkerPool.shared.submit(.nextJob(self, urgency)) }
    }

    /// The next piece that waits for a worker; nil if others have taken all.
    func takeJob() -> UnownedJob? { waiting.withLock { $0.jobs.popFirst() } }

    // MARK: Running

    func run(_ job: UnownedJob) {
        job.runSynchronously(on: asUnownedTaskExecutor())
    }

    /// The job of the task that `body` makes, or resumes, for the caller to run; nil if that task has not been
    /// suspended yet, and goes on where it is.
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
        on executor: any TaskExecutor
    ) -> Task<Void, Never> {
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            // Up to where it first waits it runs on the calling thread, which is a worker as a rule.
            return Task.immediate(
                priority: priority, executorPreference: executor, operation: work)
        }
        return Task(executorPreference: executor, priority: priority, operation: work)
    }
}

extension PoolExecutor {
    /// The executor to prefer for a piece of code that is to run on the workers; nil in a body, or a child task
    /// of one, which are there already, with the urgency of the operation.
    static var unlessInBody: PoolExecutor? {
        guard let own = TaskContext.body?.executor else { return .shared }
        let current = withUnsafeCurrentTask { $0?.unownedTaskExecutor }
        return current == own.asUnownedTaskExecutor() ? nil : .shared
    }
}
