import Synchronization

/// Runs the batches of queues on the thread of one worker.
///
/// Unchecked: `queue` is guarded by `lock`; everything else is constant.
final class BatchRunner: WorkerRunner, @unchecked Sendable {
    private let batch: Batch
    private let bare = BareBatch()
    private let epilogue: Epilogue
    private let lock = SpinLock()
    /// The queue whose batches the worker is running.
    private var queue: OperationQueue?

    init(epilogue: Epilogue) {
        batch = Batch(bare: bare)
        self.epilogue = epilogue
    }

    /// Returns the runner of a worker. Called on the worker's thread.
    static func of(_ worker: Worker) -> BatchRunner {
        // No other class is a runner.
        unsafeDowncast(
            worker.runner { BatchRunner(epilogue: worker.epilogue) }, to: BatchRunner.self)
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
                let departure = queue.retire(batch, nanoseconds: end - start)
                start = conclude(departure, of: queue, at: end) { queue.release(batch) }
                work = queue.claimNext(batch, offered: urgency)
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
        let departure = queue.retire(bare, nanoseconds: end - start)
        start = conclude(departure, of: queue, at: end) { bare.release() }
        return queue.claimNext(next, offered: urgency)
    }

    /// Does what the end of a batch leaves to do, most of which is user code, before the worker
    /// claims more: wakes waiters, calls completion blocks, releases what the batch has run.
    ///
    /// The worker holds no slot and is inside no operation. The queue was not offered to another
    /// worker for the slot that the worker has returned, because the worker usually comes back for
    /// it at once. If the worker is held up here, it offers the queue itself (`reclaimRest`), or
    /// the monitor thread does within milliseconds.
    ///
    /// - Returns: the time when that was over.
    @inline(__always)
    private func conclude(
        _ departure: QueueState.Departure, of queue: OperationQueue, at end: UInt64,
        _ release: () -> Void
    ) -> UInt64 {
        guard departure.leavesReady || !departure.hesitating.isEmpty || !epilogue.isEmpty else {
            queue.complete(departure)
            release()
            return end
        }
        concludeWatched(departure, of: queue, release)
        return monotonicNanoseconds()
    }

    @inline(never)
    private func concludeWatched(
        _ departure: QueueState.Departure, of queue: OperationQueue, _ release: () -> Void
    ) {
        epilogue.during {
            WorkerPool.shared.watchBatches()
            queue.complete(departure)
            // The completion blocks of a scope's operations run outside the scope's tasks, at the
            // end of the worker's work item.
            if queue.tasks == nil { epilogue.perform() }
            release()
        }
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
