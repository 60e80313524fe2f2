import Synchronization

/// Runs the batches of queues on the thread of one worker.
///
/// Unchecked: `queue` is guarded by `lock`; everything else is constant.
final class BatchRunner: WorkerRunner, @unchecked Sendable {
    /// Two batches, used in turn: the worker claims the next batch before it releases the
    /// operations of the last one.
    private let batches = (Batch(), Batch())
    private let lock = SpinLock()
    /// The queue whose batches the worker is running.
    private var queue: OperationQueue?

    /// Returns the runner of a worker. Called on the worker's thread.
    static func of(_ worker: Worker) -> BatchRunner {
        // No other class is a runner.
        unsafeDowncast(worker.runner { BatchRunner() }, to: BatchRunner.self)
    }

    func run(_ queue: OperationQueue, offered urgency: Urgency, context: ThreadContext) {
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

    // MARK: For other threads

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

    var position: Int? {
        guard lock.withLock({ queue != nil }) else { return nil }
        return batches.0.progress ?? batches.1.progress.map { -$0 - 1 }
    }
}

extension OperationQueue: WorkSource {
    func run(on worker: Worker, offered urgency: Urgency, context: ThreadContext) {
        if let tasks { return tasks.run(self, offered: urgency) }
        BatchRunner.of(worker).run(self, offered: urgency, context: context)
    }

    /// Runs the best operations of the queue inside a task that runs on a worker's thread.
    func runInTask(offered urgency: Urgency) {
        let context = ThreadContext.current
        guard let worker = context.activeWorker else {
            return runNext(on: .workers, offered: urgency)
        }
        BatchRunner.of(worker).run(self, offered: urgency, context: context)
    }
}
