/// A worker thread, as it knows itself.
///
/// Unchecked: `queue` is guarded by `lock`; everything else is constant.
final class Worker: @unchecked Sendable {
    let id: WorkerID
    /// How to look at the thread; nil where the system has no way.
    let probe: ThreadProbe?
    let parker = Parker()
    let batch = Batch()

    private let lock = BriefLock()
    /// The queue of the batch that is being run.
    private var queue: OperationQueue?

    /// To be made by the thread itself.
    init(id: WorkerID) {
        self.id = id
        probe = ThreadProbe()
    }

    func run(_ item: WorkItem, context: ThreadContext) {
        switch item {
        case .block(let block): block()
        case .queue(let queue):
            switch queue.claim(batch) {
            case .none: break
            case .single(let operation): operation.takeRetainedValue().runClaimed(in: queue)
            case .batch: run(batchOf: queue, context: context)
            }
        }
    }

    private func run(batchOf queue: OperationQueue, context: ThreadContext) {
        lock.withLock { self.queue = queue }
        if batch.progress.hasRest { WorkerPool.shared.watchBatches() }
        queue.run(batch, context: context) {
            // From here on nobody else may cut it.
            lock.withLock { self.queue = nil }
        }
    }

    // MARK: For others

    /// Gives back what has not been begun, because this worker does not get to it.
    func cutBatch() {
        let queue = lock.withLock { self.queue }
        queue?.cut(batch)
    }

    /// How far it has come with its batch, if there is a rest; nil if nobody waits behind it.
    var positionInBatch: Int? {
        let isRunning = lock.withLock { queue != nil }
        let progress = batch.progress
        return isRunning && progress.hasRest ? progress.taken : nil
    }
}
