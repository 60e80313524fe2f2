import Synchronization

/// A worker thread.
///
/// Unchecked: `queue` and `probe` are guarded by `lock`; everything else is constant.
final class Worker: @unchecked Sendable {
    let id: WorkerID
    let parker = Parker()
    /// See `ThreadContext.number`.
    private let threadNumber = ThreadContext.current.number

    /// Two batches, used in turn: the worker claims the next batch before it releases the
    /// operations of the last one.
    private let batches = (Batch(), Batch())
    private let lock = SpinLock()
    /// The queue whose batches the worker is running.
    private var queue: OperationQueue?
    /// The probe of the thread that acts as this worker; nil if the system has none.
    private var probe: ThreadProbe?

    /// Creates a worker; called on the worker's own thread.
    init(id: WorkerID) {
        self.id = id
        probe = ThreadProbe()
    }

    func run(_ item: WorkItem, context: ThreadContext) {
        switch item {
        case .block(let block, _): block()
        case .job(let job, let executor, _): executor.run(job)
        case .nextJob(let executor, _): if let job = executor.takeJob() { executor.run(job) }
        case .timer(let timer): timer.fire()
        case .queue(let queue, let urgency):
            guard let tasks = queue.tasks else {
                return run(queue, offered: urgency, context: context)
            }
            tasks.run(queue, offered: urgency)
        }
    }

    /// Runs the best operations of a queue inside a task that runs on a worker's thread.
    static func runInTask(_ queue: OperationQueue, offered urgency: Urgency) {
        let context = ThreadContext.current
        guard let worker = context.activeWorker else {
            return queue.runNext(on: .workers, offered: urgency)
        }
        worker.run(queue, offered: urgency, context: context)
    }

    private func run(_ queue: OperationQueue, offered urgency: Urgency, context: ThreadContext) {
        var (batch, next) = batches
        var work = queue.claim(batch, offered: urgency)
        guard case .batch = work else { return run(work, of: queue) }
        lock.withLock { self.queue = queue }
        var start = monotonicNanoseconds()
        while case .batch = work {
            batch.start.store(start, ordering: .relaxed)
            if batch.progress != nil { WorkerPool.shared.watchBatches() }
            queue.run(batch, context: context)
            let end = monotonicNanoseconds()
            work = queue.exchange(
                batch, for: next, offered: urgency, nanoseconds: end - start)
            swap(&batch, &next)
            start = end
        }
        lock.withLock { self.queue = nil }
        run(work, of: queue)
    }

    private func run(_ work: QueueState.Work, of queue: OperationQueue) {
        switch work {
        case .none, .batch: break
        case .single(let operation): operation.takeRetainedValue().runClaimed(in: queue)
        case .refused(let operation): operation.takeRetainedValue().notifyObservers()
        }
    }

    /// Runs `body` on the calling thread, which acts as this worker meanwhile. The worker's own
    /// thread waits.
    func lendIdentity(to context: ThreadContext, _ body: () -> Void) {
        let (own, other) = (lock.withLock { probe }, ThreadProbe())
        lock.withLock { probe = other }
        context.number = threadNumber
        context.activeWorker = self
        body()
        context.activeWorker = nil
        lock.withLock { probe = own }
    }

    // MARK: For other threads

    /// Returns the operations that this worker has not begun to their queue, because the worker is
    /// about to block.
    func reclaimRest() {
        guard let queue = lock.withLock({ queue }) else { return }
        queue.reclaimRest(of: batches.0)
        queue.reclaimRest(of: batches.1)
    }

    /// Does the same as ``reclaimRest()``, on behalf of the monitor thread.
    ///
    /// The worker may finish with the queue meanwhile, so that the reference taken here is the last
    /// one. A worker therefore releases the reference and runs the queue's `deinit`, which may be a
    /// user's.
    func reclaimRestForMonitor() {
        let reference = lock.withLock { queue.map { Unmanaged.passRetained($0) } }
        guard let reference else { return }
        reference._withUnsafeGuaranteedRef { queue in
            queue.reclaimRest(of: batches.0)
            queue.reclaimRest(of: batches.1)
        }
        WorkerPool.shared.submit(.block { reference.release() })
    }

    /// The properties of this worker that the monitor thread observes.
    var sample: WorkerWatch.Sample {
        let probe = lock.withLock { self.probe }
        return WorkerWatch.Sample(
            id: id, processorTime: probe?.processorTime,
            isSleeping: { probe?.isSleeping }, position: positionInBatch)
    }

    /// The worker's progress in its batch; nil if no operation waits behind the current one and the
    /// batch keeps no finished operations, so that the time does not matter.
    private var positionInBatch: Int? {
        guard lock.withLock({ queue != nil }) else { return nil }
        return batches.0.progress ?? batches.1.progress.map { -$0 - 1 }
    }
}
