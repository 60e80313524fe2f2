import Synchronization

/// The threads that run operations, shared by all queues of the process.
///
/// As many workers run at a time as there are processors, plus one for each worker that blocks, up
/// to 512 threads. See WorkerThreads.md.
///
/// Unchecked: all variables are guarded by `lock`.
package final class WorkerPool: @unchecked Sendable {
    /// The functions for other modules are static, because each use of this reference outside of
    /// the module would count it, in memory that all processors would write then.
    static let shared = WorkerPool(maximumThreads: 512)

    private static let idleSeconds = 5
    private static let watchNanoseconds: UInt64 = 5_000_000
    private static let idleWatchNanoseconds: UInt64 = 100_000_000
    private static let quietNanoseconds: UInt64 = 4_000
    private static let searchNanoseconds: UInt64 = 12_000

    private let lock = SpinLock()
    /// Not checked for overlapping accesses: the lock excludes them.
    @exclusivity(unchecked)
    private var state: PoolState
    /// The workers, indexed by number.
    private var workers: [Worker?] = []
    /// The threads that the monitor thread has to make for single operations.
    private var ownThreads: [any RequestedThread] = []
    /// Open while the monitor thread has something new to look at.
    private let monitor = Latch()
    private let timekeeper = Timekeeper()
    /// The number of pending items in `state`, or `Int.max` if too many workers are active.
    /// Readable without the lock.
    private let pending = Atomic<Int>(0)
    /// Whether one more worker may be active. Readable without the lock.
    private let hasIdleProcessor = Atomic<Bool>(true)
    private let watchesClaims = Atomic<Bool>(false)
    /// The number of processors that this process may use.
    private let processors: Atomic<Int>

    /// What is called, on a thread of its own, when all threads have been blocked for a while and
    /// work waits for one; with the numbers of threads and of waiting items.
    package static var exhaustionHandler: (@Sendable (Int, Int) -> Void)? {
        get { shared.lock.withLock { shared.handlesExhaustion } }
        set { shared.lock.withLock { shared.handlesExhaustion = newValue } }
    }
    private var handlesExhaustion: (@Sendable (Int, Int) -> Void)?

    package static var cores: Int { shared.processors.load(ordering: .relaxed) }

    private init(maximumThreads: Int) {
        var processorCount = ProcessorCount()
        let cores = processorCount.count()
        processors = Atomic(cores)
        state = PoolState(cores: cores, maximumThreads: maximumThreads)
        let hasMonitor = startThread(named: "Operations-pool") { [processorCount] in
            // The thread that happened to need the pool first may have an unusual niceness. All
            // other threads of the pool are made by this one and inherit its niceness.
            _ = setNiceness(nicenessOfFirstThread)
            self.superviseForever(processorCount)
        }
        if !hasMonitor {
            fatalError(
                "Operations: the system refuses the first thread: raise its limit of threads.")
        }
    }

    /// Applies one event to the state, under the lock.
    @inline(__always)
    private func event<Result>(_ body: (inout PoolState) -> Result) -> Result {
        lock.lock()
        let result = body(&state)
        let load = state.load
        pending.store(load.isOverLimit ? .max : load.pendingCount, ordering: .relaxed)
        let becameIdle = publish(load.hasIdleProcessor)
        lock.unlock()
        if becameIdle { shareJobs() }
        return result
    }

    /// Publishes whether a processor is idle. Returns true if one has just become idle.
    @inline(__always)
    private func publish(_ isIdle: Bool) -> Bool {
        let wasIdle = hasIdleProcessor.load(ordering: .relaxed)
        guard isIdle != wasIdle else { return false }
        hasIdleProcessor.store(isIdle, ordering: .relaxed)
        return isIdle
    }

    /// The number of items that wait for a worker; `Int.max` when a worker should stop.
    package static var pendingCount: Int { shared.pending.load(ordering: .relaxed) }

    package static func submit(_ item: WorkItem) {
        shared.perform(shared.event { $0.submitted(item) })
    }

    // MARK: Jobs that wait for one worker

    /// Keeps a job for a worker: for the calling one, or for the one that ran the body last. The
    /// pool gets the job if a processor is idle, or if that worker is not active.
    static func submit(_ job: UnownedJob, of executor: PoolExecutor) {
        if !shared.keep(job, of: executor) { submit(.job(job, executor, .usual)) }
    }

    /// Returns false if the job is for the pool.
    @inline(__always)
    private func keep(_ job: UnownedJob, of executor: PoolExecutor) -> Bool {
        if hasIdleProcessor.load(ordering: .relaxed) { return false }
        if let own = ThreadContext.withExisting({ $0?.jobs }) {
            return own._withUnsafeGuaranteedRef { keep(job, of: executor, in: $0) }
        }
        return executor.home.map { keep(job, of: executor, in: $0) } ?? false
    }

    @inline(__always)
    private func keep(_ job: UnownedJob, of executor: PoolExecutor, in jobs: WorkerJobs) -> Bool {
        guard jobs.append(job, of: executor) else { return false }
        // Either the thread by which a processor becomes idle finds the job, or this thread finds
        // that the processor is idle.
        if hasIdleProcessor.load(ordering: .sequentiallyConsistent) {
            jobs.share()
        } else {
            watch()
        }
        return true
    }

    /// Passes the jobs that wait for single workers to the pool, because a processor has become
    /// idle.
    @inline(never)
    private func shareJobs() {
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        // Once a list is empty, it stays so: jobs go to the pool while a processor is idle.
        while let jobs = lock.withLock({
            workers.lazy.compactMap { $0?.jobs }.first { !$0.isEmpty }
        }) {
            jobs.share()
        }
    }

    /// Runs a function that blocks. If the caller is a worker, the pool compensates for that worker
    /// meanwhile.
    package static func compensating<Output, Failure: Error>(
        _ body: () throws(Failure) -> sending Output
    ) throws(Failure) -> sending Output {
        guard let context = ThreadContext.existing, let worker = context.activeWorker else {
            return try body()
        }
        worker.reclaimRest()
        shared.perform(shared.event { $0.workerWillBlock(worker.id) })
        context.worker = nil
        defer {
            context.worker = worker
            shared.perform(shared.event { $0.workerDidUnblock(worker.id) })
            worker.jobs.open()
        }
        return try body()
    }

    /// Calls an action on a worker after `duration`, or at once if `duration` is not positive.
    ///
    /// - Complexity: O(log n) for n timers, and as much to cancel the action.
    static func schedule(
        after duration: Duration, _ action: @escaping @Sendable () -> Void
    ) -> PoolTimer {
        let timer = PoolTimer(action, of: shared.timekeeper)
        guard duration > .zero else {
            submit(.timer(timer))
            return timer
        }
        let now = continuousNanoseconds()
        // Rounded up, so that the action, if it reads the clock, finds that the time has come.
        let moment = now.addingSaturated(duration.wholeNanoseconds).addingSaturated(1)
        if shared.timekeeper.add(timer, at: moment, now: now) { shared.monitor.open() }
        return timer
    }

    private func perform(_ action: PoolState.Action) {
        if let worker = action.wakes { lock.withLock { workers[worker.number] }?.parker.post() }
        if action.wakesMonitor { monitor.open() }
    }

    // MARK: Workers

    /// Has the monitor thread make a thread for an operation.
    package static func start(_ thread: any RequestedThread) {
        shared.lock.withLock { shared.ownThreads.append(thread) }
        shared.monitor.open()
    }

    private func work(in workerClass: Urgency) {
        setImportance(nicenessOffset: workerClass.nicenessOffset)
        let context = ThreadContext.current
        let worker = Worker(
            id: event { $0.workerStarted(in: workerClass) }, workerClass: workerClass)
        nameThread("Operations-\(worker.id.number)")
        register(worker)
        var phase = Phase.arriving
        while let item = nextItem(for: worker, after: phase) {
            phase = .running
            context.worker = worker
            worker.jobs.open()
            worker.run(item, context: context)
            while !worker.jobs.isEmpty {
                worker.jobs.runPresent()
                worker.epilogue.perform()
                if pending.load(ordering: .relaxed) > 0 { break }
            }
            context.worker = nil
        }
        context.dismissRunners()
        lock.withLock { workers[worker.id.number] = nil }
        perform(event { $0.workerEnded(worker.id) })
    }

    private func register(_ worker: Worker) {
        lock.withLock {
            while workers.count <= worker.id.number { workers.append(nil) }
            workers[worker.id.number] = worker
        }
    }

    /// What a worker does before it requests an item.
    private enum Phase { case arriving, running, searching }

    private enum Found {
        case work(WorkItem)
        case search
        case park
    }

    /// Waits for work. Returns nil when the worker should end.
    private func nextItem(for worker: Worker, after phase: Phase) -> WorkItem? {
        var phase = phase
        while true {
            let (found, action): (Found, PoolState.Action) = event { state in
                switch phase {
                case .arriving: state.workerArrives(worker.id)
                case .running: state.workerDone(worker.id)
                case .searching: state.workerEndsSearch()
                }
                if let (item, action) = state.workerRequestedItem(worker.id) {
                    return (.work(item), action)
                }
                let (searches, action) = state.workerFoundNothing(
                    worker.id, hasSearched: phase == .searching)
                return (searches ? .search : .park, action)
            }
            perform(action)
            switch found {
            case .work(let item): return item
            case .search:
                worker.jobs.close()
                search()
                phase = .searching
            case .park:
                worker.jobs.close()
                guard park(worker) else { return nil }
                phase = .arriving
            }
        }
    }

    /// Polls for work, for about as long as falling asleep and being woken takes.
    private func search() {
        let start = monotonicNanoseconds()
        // Leave threads that add operations one after the other alone for a moment: taking some
        // operations at a time is cheaper for all threads than taking each one separately. A thread
        // that waits for each operation before it adds the next one needs longer than this moment
        // to wake up, so the pause does not delay it.
        var now = start
        while now < start + Self.quietNanoseconds { now = monotonicNanoseconds() }
        while now < start + Self.searchNanoseconds {
            for _ in 0..<16 where pending.load(ordering: .relaxed) > 0 { return }
            now = monotonicNanoseconds()
        }
    }

    /// Parks the worker until another thread wakes it. Returns false when the worker is superfluous
    /// and has been idle for long.
    private func park(_ worker: Worker) -> Bool {
        while true {
            if worker.parker.wait(about: Self.idleSeconds) { return true }
            let mayEnd = event { $0.mayEndWhenIdle && $0.workerUnparks(worker.id) }
            if mayEnd { return false }
        }
    }

    // MARK: Monitor thread

    /// Asks the monitor thread to ensure that no operation of a claim waits for long behind another
    /// operation.
    package static func watchClaims() {
        // No request is lost: the caller has published its claim before this fence, and the monitor
        // thread clears the flag before it looks. So either the monitor thread sees the claim or
        // the caller sees the cleared flag.
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        shared.watch()
    }

    @inline(__always)
    private func watch() {
        guard !watchesClaims.load(ordering: .sequentiallyConsistent) else { return }
        watchesClaims.store(true, ordering: .releasing)
        perform(event { $0.claimStarted() })
    }

    /// Starts threads on request, submits timers that are due, and looks for workers that block
    /// while work is pending.
    private func superviseForever(_ processorCount: ProcessorCount) -> Never {
        var processorCount = processorCount
        var lastCount: UInt64 = 0
        var watch: (memory: WorkerWatch, lastCheck: UInt64)?
        var exhaustion = ExhaustionWatch()
        while true {
            for workerClass in event({ $0.monitorTakesThreadRequests() })
            where !startThread({ self.work(in: workerClass) }) { threadWasRefused(workerClass) }
            for thread in takeOwnThreads() { thread.start() }
            let pause = event { $0.monitorBeginsToWatch() }
            let now = continuousNanoseconds()
            // Two checks are always a whole pause apart, even if the monitor thread is woken in
            // between: a worker that sleeps at two times close to each other need not have slept
            // all the time.
            var nextCheck: UInt64?
            if let pause {
                if watch == nil { watch = (WorkerWatch(from: now), now) }
                let span = pause == .closely ? Self.watchNanoseconds : Self.idleWatchNanoseconds
                nextCheck = watch.map { $0.lastCheck + span }
            } else {
                watch = nil
            }
            if let nextCheck, nextCheck <= now {
                // The number of processors that the process may use can change.
                if now - lastCount > 1_000_000_000 {
                    lastCount = now
                    processors.store(processorCount.count(), ordering: .relaxed)
                }
                if var memory = watch?.memory {
                    checkWorkers(&memory, at: now)
                    reportExhaustion(&exhaustion, at: now)
                    watch = (memory, continuousNanoseconds())
                }
                continue
            }
            let due = timekeeper.takeDue(at: now)
            if !due.isEmpty {
                for timer in due { Self.submit(.timer(timer)) }
                continue
            }
            let next = [nextCheck, timekeeper.nextVisit(after: now)].compactMap { $0 }.min()
            monitor.wait(nanoseconds: next.map { $0 > now ? $0 - now : 0 })
            // Closed before the monitor thread looks for requests: whoever opens the latch has made
            // the request before.
            monitor.close()
        }
    }

    // MARK: For reports

    /// What the threads of the pool do now.
    ///
    /// - Complexity: O(active workers), with some system calls for each of them.
    package static var counts: WorkerCounts {
        let (load, active) = shared.lock.withLock {
            (shared.state.load, shared.state.active.compactMap { shared.workers[$0.number] })
        }
        // Asked without the lock. A worker may have ended its item meanwhile, and counts as blocked
        // then: it was at work a moment ago, so it is idle for less than a moment.
        let asleep = active.count { $0.sample.isSleeping() == true }
        return WorkerCounts(
            active: load.active.sum - asleep, blocked: load.waiting + asleep,
            idle: max(0, load.threads - load.active.sum - load.waiting),
            limit: load.maximumThreads)
    }

    /// Receives by how many nanoseconds a timer was called too late, on the thread that calls it;
    /// nil if nobody wants to know.
    package static var latenessHandler: (@Sendable (UInt64) -> Void)? {
        get { shared.timekeeper.latenessHandler }
        set { shared.timekeeper.latenessHandler = newValue }
    }

    /// What the worker does whose thread has the given number; nil if there is none.
    package static func activity(ofThread number: Int) -> ThreadActivity? {
        allWorkers.first { $0.has(thread: number) }?.activity
    }

    /// What the worker does that has the batch, or runs the operation, with the given address; nil
    /// if there is none.
    package static func activity(ofWorkerWith work: UnsafeMutableRawPointer) -> ThreadActivity? {
        allWorkers.first { $0.has(work) }?.activity
    }

    private static var allWorkers: [Worker] {
        shared.lock.withLock { shared.workers.compactMap { $0 } }
    }

    private func takeOwnThreads() -> [any RequestedThread] {
        lock.withLock {
            defer { ownThreads = [] }
            return ownThreads
        }
    }

    private func checkWorkers(_ watch: inout WorkerWatch, at now: UInt64) {
        // Clear the flag before the check: a claim that starts after the check has to wake the
        // monitor thread again.
        watchesClaims.store(false, ordering: .releasing)
        atomicMemoryFence(ordering: .sequentiallyConsistent)
        let workers = lock.withLock { state.active.compactMap { self.workers[$0.number] } }
        let seen = watch.update(with: workers.map(\.sample), now: now, cores: Self.cores)
        for worker in workers where seen.stuck.contains(worker.id) {
            worker.reclaimRestForMonitor()
        }
        perform(
            event { state in
                state.monitorSawClaims(
                    seen.hasClaims || self.watchesClaims.load(ordering: .acquiring))
                return state.monitorCounted(asleep: seen.asleep, cores: Self.cores)
            })
    }

    private func reportExhaustion(_ watch: inout ExhaustionWatch, at now: UInt64) {
        let load = lock.withLock { state.load }
        guard watch.update(isExhausted: load.isExhausted, now: now),
            let handler = Self.exhaustionHandler
        else { return }
        // The handler is the user's and may block; no worker is left to call it.
        _ = startThread { handler(load.threads, load.pendingCount) }
    }

    /// Handles a refused thread. The existing threads continue; there has to be at least one.
    private func threadWasRefused(_ workerClass: Urgency) {
        let (remaining, action) = event { $0.threadRefused(workerClass) }
        if remaining == 0 {
            fatalError(
                "Operations: the system refuses to make a thread: raise its limit of threads or of "
                    + "memory.")
        }
        perform(action)
    }
}

/// What the threads of the pool do at a moment.
package struct WorkerCounts: Sendable, Equatable {
    /// Those that run work, or wait for a processor.
    package var active: Int
    /// Those that run work and wait inside of it: in the kernel, or in a wait of this library.
    package var blocked: Int
    /// Those that wait for work, with those that are being created.
    package var idle: Int
    /// The most threads that there may be.
    package var limit: Int

    package static let none = WorkerCounts(active: 0, blocked: 0, idle: 0, limit: 0)
}

/// A thread that the monitor thread has to make.
package protocol RequestedThread: Sendable {
    /// Makes the thread.
    func start()
}
