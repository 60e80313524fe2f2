import Synchronization

/// The jobs of tasks that wait for one worker, which runs them between the operations of its
/// queues. See WorkerThreads.md.
///
/// A job is in one list at a time, here or in the pool. While the worker is not active, this list
/// is closed, and jobs go to the pool.
///
/// Unchecked: `ring` and `isOpen` are guarded by `lock`.
package final class WorkerJobs: @unchecked Sendable {
    /// A job, and the executor that runs it, which is retained.
    private typealias Waiting = (job: UnownedJob, executor: Unmanaged<PoolExecutor>)

    private struct Ring {
        private var places = UnsafeMutablePointer<Waiting>.allocate(capacity: 64)
        private var capacity = 64
        private var head = 0
        private(set) var count = 0

        @inline(__always)
        mutating func append(_ waiting: Waiting) {
            if count == capacity { grow() }
            places[(head &+ count) & (capacity &- 1)] = waiting
            count &+= 1
        }

        @inline(__always)
        mutating func takeFirst() -> Waiting? {
            if count == 0 { return nil }
            let first = places[head]
            head = (head &+ 1) & (capacity &- 1)
            count &-= 1
            return first
        }

        @inline(never)
        private mutating func grow() {
            let new = UnsafeMutablePointer<Waiting>.allocate(capacity: 2 * capacity)
            for index in 0..<count { new[index] = places[(head + index) & (capacity - 1)] }
            places.deallocate()
            (places, capacity, head) = (new, 2 * capacity, 0)
        }

        func deallocate() { places.deallocate() }
    }

    /// The most jobs that the worker runs before it looks for other work.
    private static let mostInARow = 64

    private let lock = SpinLock()
    @exclusivity(unchecked)
    private var ring = Ring()
    @exclusivity(unchecked)
    private var isOpen = false
    /// The number of jobs. Readable without the lock.
    private let count = Atomic<Int>(0)
    /// The number of jobs that the worker has taken so far. Only the worker changes it.
    private let taken = Atomic<Int>(0)
    /// Whether the worker is running jobs. Only the worker changes it.
    private let isRunning = Atomic<Bool>(false)

    deinit { ring.deallocate() }

    package var isEmpty: Bool {
        @inline(__always) get { count.load(ordering: .relaxed) == 0 }
    }

    /// Adds a job. Returns false if the list is closed.
    ///
    /// The addition is sequentially consistent with what the caller reads after it.
    @inline(__always)
    func append(_ job: UnownedJob, of executor: PoolExecutor) -> Bool {
        lock.lock()
        defer { lock.unlock() }
        guard isOpen else { return false }
        ring.append((job, .passRetained(executor)))
        count.store(ring.count, ordering: .sequentiallyConsistent)
        return true
    }

    @inline(__always)
    private func takeFirst() -> Waiting? {
        lock.lock()
        defer { lock.unlock() }
        let first = ring.takeFirst()
        // Who sees that no job waits also sees that one runs; see `progress`.
        count.store(ring.count, ordering: .releasing)
        return first
    }

    // MARK: The worker

    /// Runs the jobs that wait now, but not too many in a row. Called on the worker's thread,
    /// outside of operations.
    ///
    /// The thread that added the first of these jobs has asked the monitor thread to watch the
    /// worker. The monitor thread does that until the last job has returned, because operations
    /// that the worker has ended may wait for it to leave their queue.
    ///
    /// - Parameter continues: called before each job; whether to run that.
    package func runPresent(while continues: () -> Bool = { true }) {
        var left = min(count.load(ordering: .relaxed), Self.mostInARow)
        guard left > 0 else { return }
        isRunning.store(true, ordering: .relaxed)
        while left > 0, continues(), let (job, executor) = takeFirst() {
            left -= 1
            taken.store(taken.load(ordering: .relaxed) &+ 1, ordering: .relaxed)
            executor._withUnsafeGuaranteedRef { $0.run(job) }
            executor.release()
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
            WorkerPool.submit(.job(job, executor.takeRetainedValue(), .usual))
        }
    }

    /// The progress of the worker with these jobs; nil if no job waits, and nothing waits for the
    /// end of a job.
    var progress: Int? {
        guard count.load(ordering: .acquiring) > 0 || isRunning.load(ordering: .relaxed) else {
            return nil
        }
        return taken.load(ordering: .relaxed)
    }
}
