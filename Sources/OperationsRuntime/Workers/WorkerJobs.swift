import Synchronization

/// The jobs of tasks that wait for one worker, which runs them between the operations of its
/// queues. See WorkerThreads.md.
///
/// A job is in one list at a time, here or in the pool. While the worker is not active, this list is
/// closed, and jobs go to the pool.
///
/// Unchecked: `jobs` and `isOpen` are guarded by `lock`.
package final class WorkerJobs: @unchecked Sendable {
    private typealias Waiting = (job: UnownedJob, executor: PoolExecutor)

    /// The most jobs that the worker runs before it looks for other work.
    private static let mostInARow = 64

    private let lock = SpinLock()
    @exclusivity(unchecked)
    private var jobs = FIFO<Waiting>()
    @exclusivity(unchecked)
    private var isOpen = false
    /// The number of jobs. Readable without the lock.
    private let count = Atomic<Int>(0)
    /// The number of jobs that the worker has taken so far. Only the worker changes it.
    private let taken = Atomic<Int>(0)
    /// Whether the worker is running jobs. Only the worker changes it.
    private let isRunning = Atomic<Bool>(false)

    package var isEmpty: Bool { count.load(ordering: .relaxed) == 0 }

    /// Adds a job. Returns false if the list is closed.
    @inline(__always)
    func append(_ job: UnownedJob, of executor: PoolExecutor) -> Bool {
        lock.lock()
        defer { lock.unlock() }
        guard isOpen else { return false }
        jobs.append((job, executor))
        count.store(jobs.count, ordering: .relaxed)
        return true
    }

    @inline(__always)
    private func takeFirst() -> Waiting? {
        lock.lock()
        defer { lock.unlock() }
        let first = jobs.popFirst()
        count.store(jobs.count, ordering: .relaxed)
        return first
    }

    // MARK: The worker

    /// Runs the jobs that wait now, but not too many in a row. Called on the worker's thread,
    /// outside of operations.
    ///
    /// - Parameter continues: called before each job; whether to run that.
    package func runPresent(while continues: () -> Bool = { true }) {
        var left = min(count.load(ordering: .relaxed), Self.mostInARow)
        guard left > 0 else { return }
        isRunning.store(true, ordering: .relaxed)
        // What the worker leaves behind it waits for the end of these jobs.
        WorkerPool.watchBatches()
        while left > 0, continues(), let (job, executor) = takeFirst() {
            left -= 1
            taken.store(taken.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
            executor.run(job)
        }
        isRunning.store(false, ordering: .relaxed)
    }

    /// Lets the list take jobs, because the worker is active.
    func open() { lock.withLock { isOpen = true } }

    // MARK: For other threads

    /// Passes the jobs to the pool, and takes no more until the worker is active again.
    func close() {
        lock.withLock { isOpen = false }
        share()
    }

    /// Passes the jobs to the pool.
    func share() {
        while let (job, executor) = takeFirst() {
            WorkerPool.submit(.job(job, executor, .usual))
        }
    }

    /// The progress of the worker with these jobs; nil if no job waits, and nothing waits for the
    /// end of a job.
    var progress: Int? {
        guard !isEmpty || isRunning.load(ordering: .relaxed) else { return nil }
        return taken.load(ordering: .relaxed)
    }
}
