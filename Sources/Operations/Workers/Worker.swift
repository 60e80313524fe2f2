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
    private let lock = BriefLock()
    /// The queue whose batches are being run.
    private var queue: OperationQueue?

    /// To be made by the thread itself.
    init(id: WorkerID) {
        self.id = id
        probe = ThreadProbe()
    }

    func run(_ item: WorkItem, context: ThreadContext) {
        switch item {
        case .block(let block): block()
        case .job(let job): PoolExecutor.shared.run(job)
        case .queue(let queue): run(queue, context: context)
        }
    }

    private func run(_ queue: OperationQueue, context: ThreadContext) {
        var (batch, next) = batches
        var work = queue.claim(batch)
        guard case .batch = work else { return run(work, of: queue) }
        lock.withLock { self.queue = queue }
        var start = monotonicNanoseconds()
        while case .batch = work {
            batch.start.store(start, ordering: .relaxed)
            if batch.progress.hasRest { WorkerPool.shared.watchBatches() }
            queue.run(batch, context: context)
            let end = monotonicNanoseconds()
            work = queue.exchange(batch, for: next, nanoseconds: end - start)
            swap(&batch, &next)
            start = end
        }
        lock.withLock { self.queue = nil }
        run(work, of: queue)
    }

    private func run(_ work: QueueState.Work, of queue: OperationQueue) {
        if case .single(let operation) = work {
            operation.takeRetainedValue().runClaimed(in: queue)
        }
    }

    // MARK: For others

    /// Gives back what has not been begun, because this worker does not get to it.
    func cutBatch() {
        guard let queue = lock.withLock({ queue }) else { return }
        queue.cut(batches.0)
        queue.cut(batches.1)
    }

    /// How far it has come with its batch, if there is a rest; nil if nobody waits behind it.
    var positionInBatch: Int? {
        guard lock.withLock({ queue != nil }) else { return nil }
        let (first, second) = (batches.0.progress, batches.1.progress)
        return first.hasRest ? first.taken : second.hasRest ? -second.taken - 1 : nil
    }
}
