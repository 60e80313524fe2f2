import Synchronization

/// A worker thread.
///
/// Unchecked: `queue`, `single` and `wasReniced` are guarded by `lock`; everything else is
/// constant.
final class Worker: @unchecked Sendable {
    let id: WorkerID
    /// The probe of the thread; nil if the system has none.
    let probe: ThreadProbe?
    let parker = Parker()

    /// Two batches, used in turn: the worker claims the next batch before it releases the
    /// operations of the last one.
    private let batches = (Batch(), Batch())
    private let lock = SpinLock()
    /// The queue whose batches the worker is running.
    private var queue: OperationQueue?
    /// The operation that the worker runs outside batches, and whether another thread changed the
    /// worker's niceness for that operation.
    private var single: Unmanaged<Operation>?
    private var wasReniced = false

    /// Creates a worker; called on the worker's own thread.
    init(id: WorkerID) {
        self.id = id
        probe = ThreadProbe()
        batches.0.thread = ThreadID.current
        batches.1.thread = ThreadID.current
    }

    func run(_ item: WorkItem, context: ThreadContext) {
        switch item {
        case .block(let block, _):
            if mayRunAsUsual(item, context: context) { block() }
        case .job(let job, let executor, _):
            if mayRunAsUsual(item, context: context) { executor.run(job) }
        case .nextJob(let executor, _):
            if mayRunAsUsual(item, context: context), let job = executor.takeJob() {
                executor.run(job)
            }
        case .timer(let timer):
            if mayRunAsUsual(item, context: context) { timer.fire() }
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
        guard let worker = context.activeWorker else { return queue.runNext(on: .workers) }
        worker.run(queue, offered: urgency, context: context)
    }

    /// Returns whether the worker may run an item that belongs to no queue. A nice thread must not
    /// run such an item unless the thread can return to the usual niceness; otherwise this method
    /// submits the item again, for another worker.
    private func mayRunAsUsual(_ item: WorkItem, context: ThreadContext) -> Bool {
        if !context.hasUnusualNiceness || context.change(to: context.usualNiceness) { return true }
        WorkerPool.shared.submit(item)
        return false
    }

    private func run(_ queue: OperationQueue, offered urgency: Urgency, context: ThreadContext) {
        var (batch, next) = batches
        var work = queue.claim(batch, offered: urgency)
        guard case .batch = work else { return run(work, of: queue, context: context) }
        lock.withLock { self.queue = queue }
        var start = monotonicNanoseconds()
        while case .batch = work {
            batch.start.store(start, ordering: .relaxed)
            if batch.progress != nil { WorkerPool.shared.watchBatches() }
            queue.run(batch, context: context)
            let end = monotonicNanoseconds()
            work = queue.exchange(
                batch, for: next, offered: urgency, nanoseconds: end - start, context: context)
            swap(&batch, &next)
            start = end
        }
        lock.withLock { self.queue = nil }
        run(work, of: queue, context: context)
    }

    private func run(_ work: QueueState.Work, of queue: OperationQueue, context: ThreadContext) {
        if case .refused(let reference) = work { reference.takeRetainedValue().notifyObservers() }
        guard case .single(let reference) = work else { return }
        let operation = reference.takeRetainedValue()
        lock.withLock { single = .passUnretained(operation) }
        operation.runClaimed(in: queue)
        let wasReniced = lock.withLock {
            defer { self.wasReniced = false }
            single = nil
            return self.wasReniced
        }
        if wasReniced { context.refreshNiceness() }
    }

    // MARK: For other threads

    /// Lowers the niceness of the thread if the thread runs the operation outside batches.
    func renice(for operation: Operation, to niceness: Int32) {
        lock.withLock {
            guard single?.toOpaque() == Unmanaged.passUnretained(operation).toOpaque(),
                let thread = batches.0.thread
            else { return }
            if thread.lowerNiceness(to: niceness) { wasReniced = true }
        }
    }

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
        WorkerWatch.Sample(
            id: id, processorTime: probe?.processorTime,
            isSleeping: { [probe] in probe?.isSleeping }, position: positionInBatch)
    }

    /// The worker's progress in its batch; nil if no operation waits behind the current one and the
    /// batch keeps no finished operations, so that the time does not matter.
    private var positionInBatch: Int? {
        guard lock.withLock({ queue != nil }) else { return nil }
        return batches.0.progress ?? batches.1.progress.map { -$0 - 1 }
    }
}
