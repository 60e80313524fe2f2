import OperationsRuntime
import Synchronization

/// Runs the claims of queues on the thread of one worker.
///
/// Unchecked: `queue` is guarded by `lock`; everything else is constant.
final class ClaimRunner: WorkerRunner, @unchecked Sendable {
    private let claim = Claim()
    private let epilogue: Epilogue
    private let jobs: WorkerJobs
    private let lock = SpinLock()
    /// The queue whose claims the worker is running.
    private var queue: OperationQueue?
    /// The address of the operation that the worker runs by itself; 0 for none.
    private let single = Atomic<UInt>(0)

    init(of worker: Worker) { (epilogue, jobs) = (worker.epilogue, worker.jobs) }

    /// Returns the runner of a worker. Called on the worker's thread.
    static func of(_ worker: Worker) -> ClaimRunner {
        // No other class is a runner.
        unsafeDowncast(
            worker.runner { ClaimRunner(of: worker) }, to: ClaimRunner.self)
    }

    func run(_ queue: OperationQueue, offered urgency: Urgency, context: ThreadContext) {
        var work = queue.claim(claim, offered: urgency)
        guard case .claim = work else { return runSingle(work, of: queue) }
        lock.withLock { self.queue = queue }
        var start = monotonicNanoseconds()
        while case .claim = work {
            claim.start.store(start, ordering: .relaxed)
            if claim.progress != nil { WorkerPool.watchClaims() }
            queue.run(claim, context: context)
            let end = monotonicNanoseconds()
            if let departure = queue.retire(claim, nanoseconds: end - start) {
                start = conclude(departure, of: queue, at: end)
                if !jobs.isEmpty { start = runJobs(of: queue) }
                work = queue.claimNext(claim, offered: urgency)
            }
        }
        lock.withLock { self.queue = nil }
        runSingle(work, of: queue)
    }

    /// Runs what is not a claim.
    private func runSingle(_ work: QueueState.Work, of queue: OperationQueue) {
        guard case .single(let operation) = work else { return queue.run(work) }
        // A wait inside the operation may run another one on this thread.
        let outer = single.load(ordering: .relaxed)
        single.store(UInt(bitPattern: operation.toOpaque()), ordering: .relaxed)
        queue.run(work)
        single.store(outer, ordering: .relaxed)
    }

    /// Runs jobs that wait for the worker, between two claims. The queue's ready operations wait
    /// for the worker meanwhile, as in ``conclude(_:of:at:)``.
    ///
    /// - Returns: the time when that was over.
    @inline(never)
    private func runJobs(of queue: OperationQueue) -> UInt64 {
        epilogue.during { jobs.runPresent() }
        if queue.tasks == nil { epilogue.perform() }
        return monotonicNanoseconds()
    }

    /// Does what the end of a claim leaves to do, most of which is user code, before the worker
    /// claims more: reads overrides of `isReady` again, releases what the claim has run, wakes
    /// waiters, calls completion blocks.
    ///
    /// The worker holds no slot and is inside no operation. The queue was not offered to another
    /// worker for the slot that the worker has returned, because the worker usually comes back for
    /// it at once. If the worker is held up here, it offers the queue itself (`reclaimRest`), or
    /// the monitor thread does within milliseconds.
    ///
    /// - Returns: the time when that was over.
    @inline(__always)
    private func conclude(
        _ departure: QueueState.Departure, of queue: OperationQueue, at end: UInt64
    ) -> UInt64 {
        guard departure.leavesReady || departure.hasFollowers || !epilogue.isEmpty else {
            queue.complete(departure)
            claim.release()
            return end
        }
        concludeWatched(departure, of: queue)
        return monotonicNanoseconds()
    }

    @inline(never)
    private func concludeWatched(_ departure: QueueState.Departure, of queue: OperationQueue) {
        epilogue.during {
            WorkerPool.watchClaims()
            // The completion blocks of a scope's operations run outside the scope's tasks, at the
            // end of the worker's work item. So its waiters are woken at once.
            let mayPerformSteps = queue.tasks == nil
            if mayPerformSteps, !departure.waiters.isEmpty {
                // If a release is held up, another worker performs this step. If nothing is, the
                // waiters find the memory released, and do not compete for the allocator.
                epilogue.prepend(departure.wakeWaiters)
            } else {
                departure.wakeWaiters()
            }
            queue.complete(departure)
            claim.release()
            if mayPerformSteps { epilogue.perform() }
        }
    }

    // MARK: For other threads

    func reclaimRest() {
        guard let queue = lock.withLock({ queue }) else { return }
        queue.reclaimRest(of: claim)
    }

    /// Does the same as ``reclaimRest()``, on behalf of the monitor thread.
    ///
    /// The worker may finish with the queue meanwhile, so that the reference taken here is the last
    /// one. A worker therefore releases the reference and runs the queue's `deinit`, which may be a
    /// user's.
    func reclaimRestForMonitor() {
        let reference = lock.withLock { queue.map { Unmanaged.passRetained($0) } }
        guard let reference else { return }
        reference._withUnsafeGuaranteedRef { $0.reclaimRest(of: claim) }
        WorkerPool.submit(.block { reference.release() })
    }

    func has(_ work: UnsafeMutableRawPointer) -> Bool {
        single.load(ordering: .relaxed) == UInt(bitPattern: work)
            || Unmanaged.passUnretained(claim).toOpaque() == work
    }

    var position: Int? {
        guard lock.withLock({ queue != nil }) else { return nil }
        return claim.progress
    }
}

extension OperationQueue: WorkSource {
    func run(on worker: Worker, offered urgency: Urgency, context: ThreadContext) {
        if let tasks { return tasks.run(self, offered: urgency) }
        ClaimRunner.of(worker).run(self, offered: urgency, context: context)
    }

    /// Runs the best operations of the queue inside a task that runs on a worker's thread.
    func runInTask(offered urgency: Urgency) {
        let context = ThreadContext.current
        guard let worker = context.activeWorker else {
            return runNext(on: .workers, offered: urgency)
        }
        ClaimRunner.of(worker).run(self, offered: urgency, context: context)
    }
}
