import OperationsRuntime

/// The executor of an actor that may block.
///
/// ```swift
/// actor Camera {
///     private nonisolated let executor = SerialWorkerExecutor()
///     nonisolated var unownedExecutor: UnownedSerialExecutor {
///         executor.asUnownedSerialExecutor()
///     }
///
///     func picture() throws -> Picture { try driver.read() }  // blocks, and freezes nobody
/// }
/// ```
///
/// Keep the executor in a property, as here: an actor does not keep it by itself, and one that is
/// gone crashes the program.
///
/// The actor's code runs on the worker threads of this library, one piece at a time, the more
/// urgent tasks first. Another worker takes the place of a worker that blocks
/// (<doc:ThreadStarvation>). Actors can share an executor, and are then isolated from each other as
/// one actor is from itself.
public final class SerialWorkerExecutor: SerialExecutor {
    /// The most jobs that a worker runs before it looks for other work.
    private static let mostInARow = 64

    private let jobs = Locked(SerialJobs<UnownedJob>())

    /// Makes an executor; it has no thread of its own.
    public init() { QueueRegistry.reports }

    /// The number of pieces that wait for the piece which runs.
    var waitingCount: Int { jobs.withLock { $0.count } }

    /// Runs a piece of the actor's code after those that came before; called by Swift.
    public func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        QualityOfServiceUse.begins(with: job)
        let urgency = Urgency(of: job)
        offer(jobs.withLock { $0.add(job, urgency) })
    }

    private func offer(_ urgency: Urgency?) {
        guard let urgency else { return }
        WorkerPool.submit(.block({ self.run(offered: urgency) }, urgency))
    }

    private func run(offered urgency: Urgency) {
        guard var job = jobs.withLock({ $0.begin(offered: urgency) }) else { return }
        let context = ThreadContext.current
        for number in 1... {
            job.runSynchronously(on: asUnownedSerialExecutor())
            // What the job has left to do once no job runs: it must not wait for the next one.
            context.epilogue.perform()
            let (next, urgency) = jobs.withLock { $0.proceed(mayGoOn: number < Self.mostInARow) }
            guard let next else { return offer(urgency) }
            job = next
        }
    }
}
