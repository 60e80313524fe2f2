import Synchronization

/// A worker thread.
///
/// Unchecked: `runner` and `probe` are guarded by `lock`; everything else is constant.
@usableFromInline
package final class Worker: @unchecked Sendable {
    package let id: WorkerID
    /// See ``Urgency/workerClass``.
    package let workerClass: Urgency
    let parker = Parker()
    package let jobs = WorkerJobs()
    package let epilogue = ThreadContext.current.epilogue
    /// See `ThreadContext.number`.
    private let threadNumber = ThreadContext.current.number

    private let lock = SpinLock()
    /// What the worker keeps for the queues that it runs. Only the worker's thread sets it.
    private var runner: (any WorkerRunner)?
    /// The probe of the thread that acts as this worker; nil if the system has none.
    private var probe: ThreadProbe?

    /// Creates a worker; called on the worker's own thread.
    init(id: WorkerID, workerClass: Urgency) {
        (self.id, self.workerClass) = (id, workerClass)
        probe = ThreadProbe()
    }

    func run(_ item: WorkItem, context: ThreadContext) {
        switch item {
        case .block(let block, _): block()
        case .job(let job, let executor, _): executor.run(job)
        case .nextJob(let executor, _): if let job = executor.takeJob() { executor.run(job) }
        case .timer(let timer): timer.fire()
        case .queue(let queue, let urgency):
            queue.run(on: self, offered: urgency, context: context)
        }
        epilogue.perform()
    }

    /// Adds a step to the epilogue. Called on the thread that acts as this worker.
    package func append(_ step: @escaping @Sendable () -> Void) {
        epilogue.append(step)
        WorkerPool.watchClaims()
    }

    /// Returns what the worker keeps for the queues that it runs, which is made when the worker
    /// first runs one. Called on the worker's thread.
    package func runner(orMake make: () -> any WorkerRunner) -> any WorkerRunner {
        // No other thread changes the property.
        if let runner { return runner }
        let new = make()
        lock.withLock { runner = new }
        return new
    }

    /// Runs `body` on the calling thread, which acts as this worker meanwhile. The worker's own
    /// thread waits.
    package func lendIdentity(to context: ThreadContext, _ body: () -> Void) {
        let (own, other) = (lock.withLock { probe }, ThreadProbe())
        lock.withLock { probe = other }
        context.number = threadNumber
        context.worker = self
        body()
        context.worker = nil
        lock.withLock { probe = own }
    }

    // MARK: For other threads

    /// Leaves to other workers what this worker has not begun, because the worker is about to
    /// block: operations go back to their queue.
    func reclaimRest() {
        jobs.close()
        epilogue.passOn()
        lock.withLock { runner }?.reclaimRest()
    }

    /// Does the same as ``reclaimRest()``, on behalf of the monitor thread.
    func reclaimRestForMonitor() {
        jobs.close()
        epilogue.passOn()
        lock.withLock { runner }?.reclaimRestForMonitor()
    }

    /// Whether the thread with the given number acts as this worker.
    func has(thread number: Int) -> Bool { number == threadNumber }

    /// Whether the worker's runner has the given work.
    func has(_ work: UnsafeMutableRawPointer) -> Bool {
        lock.withLock { runner }?.has(work) ?? false
    }

    /// What the thread that acts as this worker does; nil if the system does not say.
    var activity: ThreadActivity? { lock.withLock { probe }?.activity }

    /// The properties of this worker that the monitor thread observes.
    var sample: WorkerWatch.Sample {
        let (probe, runner) = lock.withLock { (self.probe, self.runner) }
        return WorkerWatch.Sample(
            id: id, processorTime: probe?.processorTime,
            isSleeping: { probe?.isSleeping },
            position: epilogue.progress ?? runner?.position ?? jobs.progress)
    }
}

/// What a worker keeps for the queues that it runs: the claims of operations. All methods may be
/// called on any thread.
package protocol WorkerRunner: AnyObject, Sendable {
    /// Returns the operations that the worker has not begun to their queue, because the worker is
    /// about to block.
    func reclaimRest()

    /// Does the same as ``reclaimRest()``, on behalf of the monitor thread.
    func reclaimRestForMonitor()

    /// The worker's progress in its claim; nil if no operation waits behind the current one and the
    /// claim keeps no finished operations, so that the time does not matter.
    var position: Int? { get }

    /// Whether the given address is that of the worker's batch, or of the operation that the worker
    /// runs by itself.
    func has(_ work: UnsafeMutableRawPointer) -> Bool
}
