#if DurableJobs
import OperationsRuntime
public import Operations

#if canImport(FoundationEssentials)
import FoundationEssentials
#else
import Foundation
#endif

/// Claims jobs of a queue, and runs them as operations of an operation queue.
///
/// ```swift
/// let pixels = Operations.OperationQueue()
/// pixels.maxConcurrentOperationCount = 4
/// let worker = JobWorker(jobs, performing: [Thumbnail.self, Album.self], on: pixels)
/// try await worker.run()
/// ```
///
/// Any number of workers, in any number of processes, may serve one queue. A worker claims the jobs
/// that its operation queue can begin. While the jobs are shorter than the round trip of a claim,
/// the worker claims up to twice as many. It hands back a job that has not begun within a second,
/// and notifies the other workers. The traits that were stored with a job, and those of
/// `traits(for:)`, become traits of its operation. So budgets, observers, timelines and `explain()`
/// of the operation queue see jobs as any other operations.
public final class JobWorker: Sendable {
    /// The settings of a worker.
    public struct Options: Sendable {
        /// How long the worker owns its jobs after a heartbeat: at least a second, and 15 s unless
        /// set. If the worker dies, its jobs start elsewhere after at most 4/3 of this time and a
        /// second.
        public var lease = Duration.seconds(15)
        /// How many deaths of its workers in a row discard a job, which may be their cause; 3
        /// unless set.
        ///
        /// A death is a process that does not come back, and counts for all jobs that the worker
        /// had claimed. A job that lacks one death of the limit runs alone in its worker, so that
        /// only the cause dies again. The death of a worker that was asked to stop counts for no
        /// job. The last death discards the job when the process has not come back for four leases
        /// more; until then the job counts as running.
        public var deathLimit = 3
        /// How long running jobs may go on when the worker is asked to stop; 10 s unless set. After
        /// that the worker cancels them and hands them back.
        public var gracePeriod = Duration.seconds(10)
        /// How long a worker waits at its start for a store that cannot be reached, before
        /// ``JobWorker/run()`` throws; a minute unless set. So a worker that is a service does not
        /// end its group because the database starts a little later. Once it runs, a worker waits
        /// for the store without a limit.
        ///
        /// ``JobQueue/init(_:in:waitingFor:reporting:)`` waits before, when the queue is opened.
        public var startPatience = Duration.seconds(60)
        /// The time after which a ready job is raised to the next priority, so that no job starves;
        /// nil, which is the default, raises none.
        public var aging: Duration?
        /// For how long jobs that have ended stay among the others, where they can be listed and
        /// retried; a day unless set. ``discardedHistory`` is for those that have failed.
        public var history = Duration.seconds(86_400)
        /// For how long discarded jobs stay among the others, where they can be listed and retried,
        /// with those that were cancelled because of them; thirty days unless set, and never less
        /// than `history`.
        public var discardedHistory = Duration.seconds(30 * 86_400)
        /// For how long ended jobs are kept in the archive after their end, so that their results
        /// can be read; a month unless set. Nil deletes jobs when their history is over.
        public var archive: Duration? = .seconds(30 * 86_400)
        /// What the worker provides to its jobs; see ``JobContext/provided(_:)``.
        public var values = JobValues()
        /// Receives events of the worker, with no lock held, on the thread of the event; events of
        /// the lease and of heartbeats on a thread that these do not need. A function that blocks
        /// delays the worker, and does not cost its lease.
        public var observer: (@Sendable (JobWorkerEvent) -> Void)?

        /// Makes the default options.
        public init() {}
    }

    let jobs: JobQueue
    let operations: Operations.OperationQueue
    let options: Options
    let performer: JobPerformer
    let state: Locked<WorkerState>
    let wakeUp = AutoResetEvent()
    let upkeep = AutoResetEvent()
    let beats = ThreadEvent()
    let watchdog = ThreadEvent()
    let lease: Locked<LeaseState>
    let handlers = HandlerCalls()

    struct LeaseState: Sendable {
        var hasRun = false
        var isOver = false
        /// When the lease ends, on the clock of `Machine.timeSinceBoot`; nil while none is held.
        var end: Duration?
        /// What earlier incarnations held. The next registration hands it back.
        var earlier = EarlierIncarnations()
    }

    var store: JobStore { jobs.store }

    /// Makes a worker, which does nothing until ``run()``.
    ///
    /// - Parameters:
    ///   - jobs: the queue to take jobs from.
    ///   - types: the types of jobs that the worker performs. It leaves others to other workers.
    ///   - operations: the operation queue that runs the jobs. Its width at this moment decides how
    ///     many jobs the worker claims.
    ///   - options: further settings.
    /// - Precondition: the types have different names.
    public init(
        _ jobs: JobQueue, performing types: [any Job.Type],
        on operations: Operations.OperationQueue, options: Options = Options()
    ) {
        (self.jobs, self.operations) = (jobs, operations)
        var options = options
        options.lease = max(options.lease, .seconds(1))
        self.options = options
        performer = JobPerformer(jobs, types, options.values)
        let width = operations.maxConcurrentOperationCount
        let most = width > 0 ? width : Machine.processorCount * 4
        state = Locked(
            WorkerState(
                worker: Self.newIdentifier(), width: most, queue: jobs.name,
                performed: performer.performed,
                suspectDeaths: max(1, options.deathLimit - 1)))
        lease = Locked(LeaseState())
    }

    /// An identifier that begins with that of the process; see ``JobStore/processOfWorker(_:)``.
    static func newIdentifier() -> String { "\(Machine.processIdentity) \(UUID().uuidString)" }

    // MARK: Running and stopping

    /// Runs jobs until ``stop()``, or until the calling task is cancelled, which has the same
    /// effect.
    ///
    /// With the package trait `ServiceLifecycle`, a graceful shutdown of the task has that effect,
    /// too.
    ///
    /// A store that cannot be reached at the beginning is waited for, up to
    /// ``JobWorker/Options/startPatience``. Meanwhile, and later, errors of the store go to the
    /// observer.
    ///
    /// - Throws: an error of the store if the worker cannot register within that time.
    /// - Precondition: the worker has not run before.
    public func run() async throws {
        let isFirst = lease.withLock { lease in
            defer { lease.hasRun = true }
            return !lease.hasRun
        }
        precondition(isFirst, "a worker runs once: make another one")
        try await stoppingOnShutdown { try await runUntilStopped() }
    }

    private func runUntilStopped() async throws {
        defer { jobs.health.forget(self) }
        let local = jobs.signals.add { [weak self] in self?.jobsAdded() }
        let watch = store.database.watch(jobs.name) { [weak self] in self?.jobsAdded() }
        let pauses = jobs.signals.addPause { [weak self] in self?.upkeep.signal() }
        let pauseWatch = store.database.watchPauses(jobs.name) { [weak self] in
            self?.upkeep.signal()
        }
        try await withTaskCancellationHandler {
            // A program may block all threads of Swift's own pool, and its jobs all those that the
            // workers of `Operations` may have. Neither ends the lease: the thread that renews it
            // also takes it.
            try await withTaskExecutorPreference(OwnThreadExecutor(named: "Jobs-heartbeat")) {
                let hasRegistered = try await registerFirst()
                if hasRegistered { await performLoops() }
                await handlers.finished()
                if hasRegistered { await leave() }
            }
        } onCancel: {
            stop()
        }
        withExtendedLifetime((local, watch, pauses, pauseWatch)) {}
    }

    /// Sends heartbeats on the calling thread, and does everything else on others.
    private func performLoops() async {
        await withTaskGroup(of: Void.self) { group in
            group.addTask(executorPreference: OwnThreadExecutor(named: "Jobs-lease")) {
                self.watchLease()
            }
            group.addTask(executorPreference: PoolExecutor.timers) { await self.maintain() }
            group.addTask(executorPreference: PoolExecutor.timers) {
                try? await self.store.extension?.refresh(self.jobs)
                await self.exchange()
                self.lease.withLock { $0.isOver = true }
                for event in [self.beats, self.watchdog] { event.signal() }
                self.upkeep.signal()
            }
            await sendHeartbeats()
        }
    }

    /// Stops the worker; returns at once, and ``run()`` returns later.
    ///
    /// The worker claims no more jobs, and hands back those that have not begun. Running jobs may
    /// go on for the grace period. Then they are cancelled and handed back, which counts as no
    /// failure.
    public func stop() { stop(gracePeriod: options.gracePeriod) }

    /// As ``stop()``, with another grace period. A call with a shorter time shortens an earlier
    /// one.
    public func stop(gracePeriod: Duration) {
        let waiting = state.withLock { $0.stopRequested() }
        for running in waiting {
            running.record.interrupt(.stopping)
            running.operation.cancel(because: .workerStops)
        }
        _ = TimeSource.continuous.schedule(after: gracePeriod) { [weak self] in self?.endGrace() }
        wakeUp.signal()
        beats.signal()
    }

    private func endGrace() {
        handlers.cancel(
            state.withLock { $0.graceEnded() }.map(\.operation), because: .workerStops)
        wakeUp.signal()
    }

    func jobsAdded() {
        state.withLock { $0.jobsAdded() }
        wakeUp.signal()
    }

    var isObserved: Bool { options.observer != nil || jobs.observer.withLock { $0 != nil } }

    func report(_ ended: [EndedJob]) {
        guard isObserved else { return }
        for job in ended { report(job.event) }
    }

    // Heartbeats are among the loops, and the events of an outage keep their order.

    func storeFailed(_ error: any Error, in loop: StoreHealth.Loop) {
        jobs.health.failed(loop, of: self)
        reportElsewhere(.storeFailed(JobCoding.describe(error)))
    }

    func storeAnswered(in loop: StoreHealth.Loop) {
        guard let time = jobs.health.succeeded(loop, of: self) else { return }
        reportElsewhere(.storeRecovered(after: time))
    }

    func report(_ event: JobWorkerEvent) {
        options.observer?(event)
        jobs.observer.withLock { $0 }?.workerReports(event)
    }
}

extension EndedJob {
    var event: JobWorkerEvent {
        .ended(job: id, name: name, attempt: attempt, state: state, error: error)
    }
}
#endif
