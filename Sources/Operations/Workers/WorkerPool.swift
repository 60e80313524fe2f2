/// The threads that run operations, shared by all queues of the process.
///
/// As many run at a time as there are processors; one more for each that blocks, up to 512 threads.
/// See Scheduling.md, "Threads".
final class WorkerPool: Sendable {
    static let shared = WorkerPool(cores: usableProcessorCount(), maximumThreads: 512)

    private static let idleMilliseconds = 5_000
    private static let watchMilliseconds = 5
    private static let idleWatchMilliseconds = 100

    private let monitor: Monitor<PoolState>

    private init(cores: Int, maximumThreads: Int) {
        self.monitor = Monitor(PoolState(cores: cores, maximumThreads: maximumThreads))
        let hasForeman = startThread {
            // The thread that happened to need the pool first may be a favoured or a nice one.
            _ = setNiceness(currentNiceness(ofFirstThread: true))
            self.superviseForever()
        }
        if !hasForeman { misuse("the system refuses the first thread: raise its limit of threads") }
    }

    func submit(_ item: WorkItem) {
        monitor.withLock { perform($0.submitted(item)) }
    }

    /// Runs something that waits; if the caller is a worker, the pool makes up for it meanwhile.
    func blocking(_ wait: () -> Void) {
        guard let context = ThreadContext.existing, let worker = context.activeWorker else {
            return wait()
        }
        monitor.withLock { perform($0.workerWillBlock(worker.id)) }
        context.activeWorker = nil
        wait()
        context.activeWorker = worker
        monitor.withLock { perform($0.workerDidUnblock(worker.id, worker.probe)) }
    }

    private func perform(_ action: PoolState.Action) {
        if action.signalsWorker { monitor.signal(.work) }
        if action.wakesForeman { monitor.signal(.watch) }
    }

    // MARK: Workers

    private func work() {
        let context = ThreadContext.current
        let worker = Worker(id: monitor.withLock { $0.workerStarted() }, probe: ThreadProbe())
        var wasActive = false
        while !context.isSpoiled {
            guard let item = nextItem(for: worker, wasActive: wasActive) else {
                wasActive = false
                break
            }
            wasActive = true
            context.activeWorker = worker
            item.run()
            context.activeWorker = nil
        }
        monitor.withLock { state in
            if wasActive { state.workerDone(worker.id) }
            perform(state.workerEnded())
        }
    }

    /// Waits for work; nil when the worker should end.
    private func nextItem(for worker: Worker, wasActive: Bool) -> WorkItem? {
        monitor.hold { held in
            if wasActive { held.state.workerDone(worker.id) }
            while true {
                if let (item, action) = held.state.workerAsked(worker.id, worker.probe) {
                    perform(action)
                    return item
                }
                guard park(held) else { return nil }
            }
        }
    }

    /// False when a superfluous worker has been idle for long.
    private func park(_ held: Monitor<PoolState>.Held) -> Bool {
        held.state.workerParked()
        defer { held.state.workerUnparked() }
        guard held.state.mayEndWhenIdle else {
            held.wait(for: .work)
            return true
        }
        let wasCalled = held.wait(for: .work, milliseconds: Self.idleMilliseconds)
        return wasCalled || !held.state.mayEndWhenIdle
    }

    // MARK: Foreman

    /// Makes threads when they are asked for, and looks for workers that block while work is pending.
    private func superviseForever() -> Never {
        var watch = SleepWatch()
        while true {
            switch nextDuty(forgetting: &watch) {
            case .makeThreads(let count):
                for _ in 0..<count where !startThread({ self.work() }) { threadWasRefused() }
            case .look(let workers):
                let asleep = watch.countSleeping(workers)
                monitor.withLock { perform($0.workersFoundAsleep(asleep)) }
            }
        }
    }

    /// Those that exist go on; there has to be one.
    private func threadWasRefused() {
        let remaining = monitor.withLock { $0.threadRefused() }
        if remaining == 0 {
            misuse("the system refuses to make a thread: raise its limit of threads or of memory")
        }
    }

    private enum Duty {
        case makeThreads(Int)
        case look([WorkerID: ThreadProbe])
    }

    /// Waits for orders, or for the next look while there is something to watch.
    ///
    /// Looks are a whole pause apart, whatever wakes the foreman in between: a worker that sleeps at two
    /// moments close to each other need not have slept all the time.
    private func nextDuty(forgetting watch: inout SleepWatch) -> Duty {
        monitor.hold { held in
            while true {
                let orders = held.state.foremanTakesOrders()
                if orders > 0 { return .makeThreads(orders) }
                guard held.state.foremanBeginsToWatch() else {
                    watch.forget()
                    held.wait(for: .watch)
                    continue
                }
                // With nothing pending nobody waits for a look; it only has to find sleepers awake.
                let pause =
                    held.state.isWorkPending ? Self.watchMilliseconds : Self.idleWatchMilliseconds
                if !held.wait(for: .watch, milliseconds: pause) {
                    return .look(held.state.workersToWatch)
                }
            }
        }
    }
}

/// A worker thread, as it knows itself.
struct Worker: Sendable {
    let id: WorkerID
    let probe: ThreadProbe?
}

/// Finds workers that sleep, by two looks at their processor time.
private struct SleepWatch {
    private var lastTimes: [WorkerID: UInt64] = [:]

    mutating func forget() { lastTimes = [:] }

    /// How many of `workers` have used next to no processor time since the last call and sleep now.
    mutating func countSleeping(_ workers: [WorkerID: ThreadProbe]) -> Int {
        var times: [WorkerID: UInt64] = [:]
        var count = 0
        for (worker, probe) in workers {
            guard let time = probe.processorTime else { continue }
            times[worker] = time
            if let last = lastTimes[worker], time - last < 500_000, probe.isSleeping { count += 1 }
        }
        lastTimes = times
        return count
    }
}
