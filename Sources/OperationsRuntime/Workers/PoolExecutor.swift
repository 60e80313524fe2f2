import Synchronization

/// Runs the tasks of asynchronous operations on the workers.
///
/// A body that blocks is therefore compensated for like any other operation, and its jobs need no
/// switch to the threads of another pool.
///
/// The task of a body has an executor of its own, which knows the urgency of the operation. The
/// priority of a task cannot express that urgency: the system gives tasks no priority above
/// `userInitiated`, and a job that waits for a worker keeps its position when the priority of its
/// task is raised.
package final class PoolExecutor: TaskExecutor {
    /// The executor of tasks that are not bodies. The priority of each task determines its urgency.
    package static let shared = PoolExecutor(.ofTask)
    /// The executor of tasks that wait for a point in time. Such a task may have to tell a body
    /// that its time is over, while bodies that compute keep all processors busy; so its jobs have
    /// the urgency of timers.
    package static let timers = PoolExecutor(.ofTimer)

    private enum Rule { case ofBody, ofTask, ofTimer }

    private struct Waiting {
        /// The urgency of the body.
        var urgency = Urgency.usual
        /// The jobs of the body that wait for a worker. For each of them the pool holds at least
        /// one reference to this executor.
        var jobs = FIFO<UnownedJob>()
        /// The jobs of the worker that ran the body last.
        var home: WorkerJobs?

        /// Sets the urgency of the body. Returns how many jobs have to be submitted again: all
        /// waiting jobs if the urgency has risen, otherwise none.
        mutating func change(to urgency: Urgency) -> Int {
            defer { self.urgency = urgency }
            return urgency > self.urgency ? jobs.count : 0
        }
    }

    private let rule: Rule
    private let waiting = Locked(Waiting())
    /// The pieces of the body that have begun, above the number of the thread that runs one now, or
    /// 0. For those who look whether the body goes on (``countsPieces``): where several threads run
    /// pieces at a time, some may not be counted.
    private let pieces = Atomic<UInt64>(0)
    /// The executor that tasks prefer if not this one. It exists for as long as the process.
    private let identity: UnownedTaskExecutor?

    private init(_ rule: Rule, as identity: UnownedTaskExecutor? = nil) {
        (self.rule, self.identity) = (rule, identity)
    }

    /// Creates an executor for a task that runs bodies.
    package convenience init() { self.init(.ofBody) }

    /// Creates an executor that runs the jobs of another one, which passes them on.
    ///
    /// - Parameter identity: the other executor, which must exist for as long as the process.
    package convenience init(as identity: UnownedTaskExecutor) { self.init(.ofTask, as: identity) }

    package func enqueue(_ job: consuming ExecutorJob) { enqueue(UnownedJob(job)) }

    package func enqueue(_ job: UnownedJob) {
        if rule == .ofTimer { return WorkerPool.submit(.job(job, self, .timer)) }
        if ThreadContext.withExisting({ $0?.keeps(job) }) == true { return }
        // The tasks of users mean their priorities.
        if identity != nil { QualityOfServiceUse.begins(with: job) }
        guard QualityOfServiceUse.isOn else { return WorkerPool.submit(job, of: self) }
        let urgency = Urgency(job.priority)
        guard rule == .ofBody else { return WorkerPool.submit(.job(job, self, urgency)) }
        // The runtime does not retain the executor for this call. As soon as the job is among those
        // that wait, a worker with an older work item may run it, and with it end the task, which
        // releases the executor. So the reference of the work item is taken first.
        let reference = Unmanaged.passRetained(self)
        // A child task may be more urgent than the body.
        let highest = waiting.withLock { waiting in
            waiting.jobs.append(job)
            return max(urgency, waiting.urgency)
        }
        WorkerPool.submit(.nextJob(reference.takeRetainedValue(), highest))
    }

    // MARK: The body

    /// Sets the urgency of the body that the task is about to run.
    ///
    /// The urgency is read with the lock held. So a promotion either comes before, and the urgency
    /// that is read has it, or comes after, and ``raised(to:)`` raises the urgency.
    package func begins(with urgency: @autoclosure () -> Urgency) {
        let (count, urgency) = waiting.withLock { waiting in
            let urgency = urgency()
            return (waiting.change(to: urgency), urgency)
        }
        offerAgain(count, urgency)
    }

    /// Raises the urgency of the body. Pass the returned number to ``offerAgain(_:_:)``, with no
    /// lock held.
    package func raised(to urgency: Urgency) -> Int {
        waiting.withLock { $0.urgency < urgency ? $0.change(to: urgency) : 0 }
    }

    /// Submits `count` waiting jobs to the pool once more, with a higher urgency. A worker that
    /// arrives later with one of the older references finds one job fewer.
    package func offerAgain(_ count: Int, _ urgency: Urgency) {
        for _ in 0..<count { WorkerPool.submit(.nextJob(self, urgency)) }
    }

    /// Takes the next job that waits for a worker; returns nil if other workers have taken all
    /// jobs.
    func takeJob() -> UnownedJob? { waiting.withLock { $0.jobs.popFirst() } }

    /// Makes jobs of the body that other threads resume wait for a worker, if that worker is active
    /// then.
    package func stays(with worker: Worker) {
        waiting.withLock { waiting in
            if waiting.home !== worker.jobs { waiting.home = worker.jobs }
        }
    }

    /// The jobs of the worker that ran the body last.
    var home: WorkerJobs? { waiting.withLock { $0.home } }

    // MARK: Running

    package func run(_ job: UnownedJob) {
        beginPiece()
        job.runSynchronously(on: identity ?? asUnownedTaskExecutor())
        endPiece()
    }

    private static var threadBits: UInt64 { 24 }
    private static var threadMask: UInt64 { 1 << threadBits - 1 }

    private static let countingFlag = Atomic<Bool>(false)

    /// Whether pieces of bodies are counted; once somebody looks whether bodies go on, for good.
    ///
    /// A body that began before has fewer pieces than it says, or none.
    package static var countsPieces: Bool {
        @inline(__always) get { countingFlag.load(ordering: .relaxed) }
        set { countingFlag.store(newValue, ordering: .relaxed) }
    }

    /// Records that the calling thread begins a piece of the body.
    @inline(__always)
    package func beginPiece() {
        if Self.countsPieces { countPiece() }
    }

    @inline(never)
    private func countPiece() {
        let thread = ThreadContext.withExisting { UInt64($0?.number ?? 0) }
        let count = pieces.load(ordering: .relaxed) >> Self.threadBits &+ 1
        pieces.store(
            count << Self.threadBits | thread & Self.threadMask, ordering: .relaxed)
    }

    /// Records that the calling thread has ended a piece of the body.
    @inline(__always)
    package func endPiece() {
        guard Self.countsPieces else { return }
        pieces.store(pieces.load(ordering: .relaxed) & ~Self.threadMask, ordering: .relaxed)
    }

    /// How many pieces of the body have begun, and the number of the thread that runs one now.
    package var progress: (pieces: UInt64, thread: Int?) {
        let pieces = pieces.load(ordering: .relaxed)
        let thread = Int(pieces & Self.threadMask)
        return (pieces >> Self.threadBits, thread == 0 ? nil : thread)
    }

    /// Returns the job of the task that `body` creates or resumes, for the caller to run. Returns
    /// nil if that task has not been suspended yet and continues where it is.
    @inline(__always)
    package func firstJob(of body: () -> Void) -> UnownedJob? {
        let context = ThreadContext.current
        context.keepsJob = true
        body()
        context.keepsJob = false
        return context.job.take()
    }

    /// Runs the task that `body` creates or resumes, up to the point where the task is suspended.
    @inline(__always)
    package func runHere(_ body: () -> Void) {
        if let job = firstJob(of: body) { run(job) }
    }

    /// Starts a task that runs on `executor`, and records its first piece.
    @discardableResult
    package static func start(
        _ work: @escaping @Sendable () async -> Void, name: String? = nil,
        priority: TaskPriority? = nil, on executor: PoolExecutor
    ) -> Task<Void, Never> {
        executor.beginPiece()
        let first = executor.progress.pieces
        // Another thread may run the next piece already, and its record counts then.
        defer { if executor.progress.pieces == first { executor.endPiece() } }
        let anyExecutor: any TaskExecutor = executor
        return start(work, name: name, priority: priority, on: anyExecutor)
    }

    /// Starts a task that runs on `executor`.
    @discardableResult
    package static func start(
        _ work: @escaping @Sendable () async -> Void, name: String? = nil,
        priority: TaskPriority? = nil, on executor: any TaskExecutor
    ) -> Task<Void, Never> {
        if #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) {
            // The task runs on the calling thread, usually a worker, up to its first suspension.
            return Task.immediate(
                name: name, priority: priority, executorPreference: executor, operation: work)
        }
        return Task(
            name: name, executorPreference: executor, priority: priority, operation: work)
    }
}
