import Synchronization

/// A worker thread, as it knows itself.
///
/// Unchecked: `queue` is guarded by `lock`; everything else is constant.
final class Worker: @unchecked Sendable {
    let id: WorkerID
    /// How to look at the thread; nil where the system has no way.
    let probe: ThreadProbe?
    let parker = Parker()

    /// One is run while the other one's operations are let go of.
    private let batches = (Batch(), Batch())
    private let lock = SpinLock()
    /// The queue whose batches are being run.
    private var queue: OperationQueue?
    /// The operation that is being run outside of batches, and whether that changed the niceness.
    private var single: Unmanaged<Operation>?
    private var wasReniced = false

    /// To be made by the thread itself.
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

    /// Runs the best operations of a queue inside of a task that runs on a worker's thread.
    static func runInTask(_ queue: OperationQueue, offered urgency: Urgency) {
        let context = ThreadContext.current
        guard let worker = context.activeWorker else { return queue.runNext(on: .workers) }
        worker.run(queue, offered: urgency, context: context)
    }

    /// What is in no queue is not for a nice thread, unless that can stop being one; otherwise it is for the
    /// next worker.
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
        if wasReniced { context.noticeNiceness() }
    }

    // MARK: For others

    /// Changes the niceness of the thread if it runs the operation, outside of batches.
    func renice(for operation: Operation, to niceness: Int32) {
        lock.withLock {
            guard single?.toOpaque() == Unmanaged.passUnretained(operation).toOpaque(),
                let thread = batches.0.thread
            else { return }
            if thread.favour(with: niceness) { wasReniced = true }
        }
    }

    /// Gives back what has not been begun, because this worker does not get to it.
    func reclaimRest() {
        guard let queue = lock.withLock({ queue }) else { return }
        queue.cut(batches.0)
        queue.cut(batches.1)
    }

    /// As ``reclaimRest()``, called by the foreman.
    ///
    /// The worker may come to an end with the queue meanwhile; then the reference that this takes is the last one. So
    /// a worker releases it, and runs the queue's `deinit`, which may be a user's.
    func reclaimRestForMonitor() {
        let reference = lock.withLock { queue.map { Unmanaged.passRetained($0) } }
        guard let reference else { return }
        reference._withUnsafeGuaranteedRef { queue in
            queue.cut(batches.0)
            queue.cut(batches.1)
        }
        WorkerPool.shared.submit(.block { reference.release() })
    }

    /// What the foreman sees of it.
    var sight: WorkerWatch.Sight {
        WorkerWatch.Sight(
            id: id, processorTime: probe?.processorTime,
            isSleeping: { [probe] in probe?.isSleeping }, position: positionInBatch)
    }

    /// How far it has come with its batch; nil if nobody minds how long it takes.
    private var positionInBatch: Int? {
        guard lock.withLock({ queue != nil }) else { return nil }
        return batches.0.progress ?? batches.1.progress.map { -$0 - 1 }
    }
}
