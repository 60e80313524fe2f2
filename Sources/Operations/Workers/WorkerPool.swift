import Synchronization

/// The threads that run operations, shared by all queues of the process.
///
/// As many run at a time as there are processors; one more for each that blocks, up to 512 threads.
/// See Scheduling.md, "Threads".
///
/// Unchecked: `state` and `workers` are guarded by `lock`.
final class WorkerPool: @unchecked Sendable {
    static let shared = WorkerPool(maximumThreads: 512)

    private static let idleSeconds = 5
    private static let watchNanoseconds: UInt64 = 5_000_000
    private static let idleWatchNanoseconds: UInt64 = 100_000_000
    private static let quietNanoseconds: UInt64 = 1_500
    private static let searchNanoseconds: UInt64 = 12_000

    private let lock = SpinLock()
    private var state: PoolState
    /// By number.
    private var workers: [Worker?] = []
    private let monitor = TimedParker()
    private let timekeeper = Timekeeper()
    /// What `state` says, for those who look without the lock.
    private let pending = Atomic<Int>(0)
    private let watchesBatches = Atomic<Bool>(false)
    /// Processors that this process may use.
    private let processors: Atomic<Int>

    var cores: Int { processors.load(ordering: .relaxed) }

    private init(maximumThreads: Int) {
        var processorCount = ProcessorCount()
        let cores = processorCount.count()
        processors = Atomic(cores)
        state = PoolState(cores: cores, maximumThreads: maximumThreads)
        let hasMonitor = startThread(named: "Operations-pool") { [processorCount] in
            // The thread that happened to need the pool first may be a favoured or a nice one.
            let niceness = nicenessOfFirstThread
            _ = setNiceness(niceness)
            ThreadNiceness.usual.store(niceness, ordering: .relaxed)
            self.superviseForever(processorCount)
        }
        if !hasMonitor { misuse("the system refuses the first thread: raise its limit of threads") }
    }

    /// One event of the state.
    @inline(__always)
    private func event<Result>(_ body: (inout PoolState) -> Result) -> Result {
        lock.lock()
        defer { lock.unlock() }
        let result = body(&state)
        pending.store(state.isOverLimit ? .max : state.pendingCount, ordering: .relaxed)
        return result
    }

    /// How much waits for a worker; a great deal when a worker should stop.
    var pendingCount: Int { pending.load(ordering: .relaxed) }

    func submit(_ item: WorkItem) {
        perform(event { $0.submitted(item) })
    }

    /// Runs something that waits; if the caller is a worker, the pool makes up for it meanwhile.
    func blocking(_ wait: () -> Void) {
        guard let context = ThreadContext.existing else { return wait() }
        guard let worker = context.activeWorker else { return context.recordWait(wait) }
        worker.reclaimRest()
        perform(event { $0.workerWillBlock(worker.id) })
        context.activeWorker = nil
        context.recordWait(wait)
        context.activeWorker = worker
        perform(event { $0.workerDidUnblock(worker.id) })
    }

    /// Calls an action after so long, on a worker; at once if there is no time to pass.
    ///
    /// - Complexity: O(log n) for n timers, and as much to cancel it.
    func schedule(
        after duration: Duration, _ action: @escaping @Sendable () -> Void
    ) -> PoolTimer {
        let timer = PoolTimer(action, of: timekeeper)
        guard duration > .zero else {
            submit(.timer(timer))
            return timer
        }
        let now = continuousNanoseconds()
        // Rounded up: who looks at the clock then finds that the time has come.
        let moment = now.addingSaturated(duration.wholeNanoseconds).addingSaturated(1)
        if timekeeper.add(timer, at: moment, now: now) { monitor.post() }
        return timer
    }

    private func perform(_ action: PoolState.Action) {
        if let worker = action.wakes { lock.withLock { workers[worker.number] }?.parker.post() }
        if action.wakesMonitor { monitor.post() }
    }

    // MARK: Workers

    /// Changes the niceness of the thread that runs an operation outside of batches, if one does.
    func renice(for operation: Operation, to niceness: Int32) {
        let workers = lock.withLock { self.workers.compactMap { $0 } }
        for worker in workers { worker.renice(for: operation, to: niceness) }
    }

    private func work() {
        let context = ThreadContext.current
        let worker = Worker(id: event { $0.workerStarted() })
        nameThread("Operations-\(worker.id.number)")
        register(worker)
        var isActive = false
        var hasArrived = true
        while !context.cannotRestorePriority {
            let item = nextItem(for: worker, isActive: isActive, hasArrived: hasArrived)
            isActive = item != nil
            hasArrived = false
            guard let item else { break }
            context.activeWorker = worker
            worker.run(item, context: context)
            context.activeWorker = nil
        }
        while let runner = context.runners.popLast() { runner.dismiss() }
        lock.withLock { workers[worker.id.number] = nil }
        perform(
            event { state in
                if isActive { state.workerDone(worker.id) }
                return state.workerEnded(worker.id)
            })
    }

    private func register(_ worker: Worker) {
        lock.withLock {
            while workers.count <= worker.id.number { workers.append(nil) }
            workers[worker.id.number] = worker
        }
    }

    private enum Found {
        case work(WorkItem, PoolState.Action)
        case search
        case park
    }

    /// Waits for work; nil when the worker should end.
    private func nextItem(for worker: Worker, isActive: Bool, hasArrived: Bool) -> WorkItem? {
        var wasActive = isActive
        var hasArrived = hasArrived
        var hasSearched = false
        while true {
            let found: Found = event { state in
                if wasActive { state.workerDone(worker.id) }
                if hasArrived { state.workerArrives() }
                if hasSearched { state.workerEndsSearch() }
                if let (item, action) = state.workerAsked(worker.id) { return .work(item, action) }
                if !hasSearched, state.workerSearches() { return .search }
                state.workerParks(worker.id)
                return .park
            }
            (wasActive, hasArrived, hasSearched) = (false, false, false)
            switch found {
            case .work(let item, let action):
                perform(action)
                return item
            case .search:
                search()
                hasSearched = true
            case .park:
                guard park(worker) else { return nil }
                hasArrived = true
            }
        }
    }

    /// Looks out for work, for about as long as it takes to fall asleep and be woken.
    private func search() {
        let start = monotonicNanoseconds()
        // Somebody who adds one operation after the other is left alone for a moment: a few at a time cost
        // both sides less than each by itself.
        var now = start
        while now < start + Self.quietNanoseconds { now = monotonicNanoseconds() }
        while now < start + Self.searchNanoseconds {
            for _ in 0..<16 where pending.load(ordering: .relaxed) > 0 { return }
            now = monotonicNanoseconds()
        }
    }

    /// False when a superfluous worker has been idle for long.
    private func park(_ worker: Worker) -> Bool {
        while true {
            if worker.parker.wait(about: Self.idleSeconds) { return true }
            let mayEnd = event { $0.mayEndWhenIdle && $0.workerUnparks(worker.id) }
            if mayEnd { return false }
        }
    }

    // MARK: Foreman

    /// Asks the foreman to see to it that nothing waits for long behind another operation of a batch.
    func watchBatches() {
        // The caller has shown its batch, and the foreman clears the flag before he looks; so either he sees the
        // batch or the caller sees the flag cleared.
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        guard !watchesBatches.load(ordering: .acquiring) else { return }
        watchesBatches.store(true, ordering: .releasing)
        perform(event { $0.batchStarted() })
    }

    /// Makes threads when they are asked for, hands over what is due, and looks for workers that block while work is
    /// pending.
    private func superviseForever(_ processorCount: ProcessorCount) -> Never {
        var processorCount = processorCount
        var lastCount: UInt64 = 0
        var watch: (memory: WorkerWatch, lastLook: UInt64)?
        while true {
            let orders = event { $0.monitorTakesOrders() }
            for _ in 0..<orders where !startThread({ self.work() }) { threadWasRefused() }
            let pause = event { $0.monitorBeginsToWatch() }
            let now = continuousNanoseconds()
            // Looks are a whole pause apart, whatever wakes the foreman in between: a worker that sleeps
            // at two moments close to each other need not have slept all the time.
            var nextLook: UInt64?
            if let pause {
                if watch == nil { watch = (WorkerWatch(from: now), now) }
                let span = pause == .closely ? Self.watchNanoseconds : Self.idleWatchNanoseconds
                nextLook = watch.map { $0.lastLook + span }
            } else {
                watch = nil
            }
            if let nextLook, nextLook <= now {
                // The processors that the process may use can change.
                if now - lastCount > 1_000_000_000 {
                    lastCount = now
                    processors.store(processorCount.count(), ordering: .relaxed)
                }
                if var memory = watch?.memory {
                    look(&memory, at: now)
                    watch = (memory, continuousNanoseconds())
                }
                continue
            }
            let due = timekeeper.takeDue(at: now)
            if !due.isEmpty {
                for timer in due { submit(.timer(timer)) }
                continue
            }
            let visits = [nextLook, timekeeper.nextVisit(after: now)].compactMap { $0 }
            if let next = visits.min() {
                _ = monitor.wait(nanoseconds: next > now ? next - now : 0)
            } else {
                monitor.wait()
            }
        }
    }

    private func look(_ watch: inout WorkerWatch, at now: UInt64) {
        // Before looking: what begins after the look has to call the foreman again.
        watchesBatches.store(false, ordering: .releasing)
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        let workers = lock.withLock { state.active.compactMap { self.workers[$0.number] } }
        let seen = watch.look(at: workers.map(\.sight), now: now, cores: cores)
        for worker in workers where seen.stuck.contains(worker.id) {
            worker.reclaimRestForMonitor()
        }
        perform(
            event { state in
                state.monitorSawBatches(
                    seen.hasBatches || self.watchesBatches.load(ordering: .acquiring))
                return state.monitorCounted(asleep: seen.asleep, cores: self.cores)
            })
    }

    /// Those that exist go on; there has to be one.
    private func threadWasRefused() {
        let (remaining, action) = event { $0.threadRefused() }
        if remaining == 0 {
            misuse("the system refuses to make a thread: raise its limit of threads or of memory")
        }
        perform(action)
    }
}
