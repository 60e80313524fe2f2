import Synchronization

/// Runs the batches of queues on the thread of one worker.
///
/// Unchecked: `queue` is guarded by `lock`; everything else is constant.
final class BatchRunner: WorkerRunner, @unchecked Sendable {
    private let batch: Batch
    private let bare = BareBatch()
    private let lock = SpinLock()
    /// The queue whose batches the worker is running.
    private var queue: OperationQueue?

    init() { batch = Batch(bare: bare) }

    /// Returns the runner of a worker. Called on the worker's thread.
    static func of(_ worker: Worker) -> BatchRunner {
        // No other class is a runner.
        unsafeDowncast(worker.runner { BatchRunner() }, to: BatchRunner.self)
    }

    func run(_ queue: OperationQueue, offered urgency: Urgency, context: ThreadContext) {
        var work = queue.claim(batch, offered: urgency)
        guard work.isBatch else { return queue.run(work) }
        lock.withLock { self.queue = queue }
        var start = monotonicNanoseconds()
        while work.isBatch {
            if case .batch = work {
                batch.start.store(start, ordering: .relaxed)
                if batch.progress != nil { WorkerPool.shared.watchBatches() }
                queue.run(batch, context: context)
                let end = monotonicNanoseconds()
                work = queue.exchange(batch, offered: urgency, nanoseconds: end - start)
                start = end
            } else {
                work = runBlocks(of: queue, before: batch, urgency, context, since: &start)
            }
        }
        lock.withLock { self.queue = nil }
        queue.run(work)
    }

    /// Runs the batch of bare blocks and claims the next work.
    ///
    /// This is not inlined, because a larger `run` keeps the compiler from inlining the code that
    /// every operation runs.
    @inline(never)
    private func runBlocks(
        of queue: OperationQueue, before next: Batch, _ urgency: Urgency, _ context: ThreadContext,
        since start: inout UInt64
    ) -> QueueState.Work {
        bare.start.store(start, ordering: .relaxed)
        if bare.progress != nil { WorkerPool.shared.watchBatches() }
        queue.run(bare, context: context)
        let end = monotonicNanoseconds()
        defer { start = end }
        return queue.exchange(bare, for: next, offered: urgency, nanoseconds: end - start)
    }

    // MARK: For other threads

    func reclaimRest() {
        guard let queue = lock.withLock({ queue }) else { return }
        reclaimRest(in: queue)
        if bare.isRegistered { queue.removeEnded(of: bare) }
    }

    private func reclaimRest(in queue: OperationQueue) {
        queue.reclaimRest(of: batch)
        queue.reclaimRest(of: bare)
    }

    /// Does the same as ``reclaimRest()``, on behalf of the monitor thread.
    ///
    /// The worker may finish with the queue meanwhile, so that the reference taken here is the last
    /// one. A worker therefore releases the reference and runs the queue's `deinit`, which may be a
    /// user's.
    func reclaimRestForMonitor() {
        let reference = lock.withLock { queue.map { Unmanaged.passRetained($0) } }
        guard let reference else { return }
        reference._withUnsafeGuaranteedRef { reclaimRest(in: $0) }
        WorkerPool.shared.submit(.block { reference.release() })
    }

    var position: Int? {
        guard lock.withLock({ queue != nil }) else { return nil }
        return batch.progress ?? bare.progress
    }
}

extension QueueState.Work {
    fileprivate var isBatch: Bool {
        switch self {
        case .batch, .bareBlocks: true
        case .none, .single, .refused: false
        }
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
