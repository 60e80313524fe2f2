/// Something for a worker to do.
enum WorkItem: Sendable {
    /// Run the best operation of a queue.
    case queue(OperationQueue)
    /// Run a block: a completion block, or a share of a block operation.
    case block(@Sendable () -> Void)

    func run() {
        switch self {
        case .queue(let queue): queue.runNext()
        case .block(let block): block()
        }
    }
}

/// Names a worker thread for as long as the process lives.
struct WorkerID: Hashable, Sendable {
    let number: Int
}

/// What the pool has to do and who does it. Pure; the rules are in Scheduling.md, "Threads".
struct PoolState {
    private var items = FIFO<WorkItem>()
    private let cores: Int
    private let maximumThreads: Int

    /// All threads, those being made included.
    private(set) var threads = 0
    private var parked = 0
    /// Workers that run something and are not inside a wait of ours.
    private var active = 0
    /// Active workers that the foreman found asleep.
    private var asleep = 0
    /// Threads that the foreman has been asked for.
    private var threadsWanted = 0
    /// How to look at each active worker.
    private var activeProbes: [WorkerID: ThreadProbe] = [:]
    private var lastWorker = 0
    /// How often the foreman looks by itself, so that it need not be called to watch.
    private var watching = Watching.no

    private enum Watching { case no, lazily, closely }

    init(cores: Int, maximumThreads: Int) {
        self.cores = cores
        self.maximumThreads = maximumThreads
    }

    private var mayTakeWork: Bool { !items.isEmpty && active < cores + asleep }

    var isWorkPending: Bool { !items.isEmpty }

    /// Whether the foreman has to look again soon.
    var needsWatching: Bool { asleep > 0 || (!items.isEmpty && !mayTakeWork) }

    struct Action {
        var signalsWorker = false
        var wakesForeman = false
    }

    /// What to do so that no work lies about while somebody could take it.
    private mutating func balance() -> Action {
        var action = Action()
        if mayTakeWork {
            if parked > 0 {
                action.signalsWorker = true
            } else if threadsWanted == 0, threads < maximumThreads {
                threads += 1
                threadsWanted += 1
                action.wakesForeman = true
            }
        } else if needsWatching, watching != .closely, isWorkPending || watching == .no {
            // Once is enough, until the foreman has come.
            watching = .closely
            action.wakesForeman = true
        }
        return action
    }

    // MARK: Events

    mutating func submitted(_ item: WorkItem) -> Action {
        items.append(item)
        return balance()
    }

    mutating func workerStarted() -> WorkerID {
        lastWorker += 1
        return WorkerID(number: lastWorker)
    }

    mutating func workerEnded() -> Action {
        threads -= 1
        return balance()
    }

    /// Work for a worker that is free, and what it must do for the others before it begins.
    mutating func workerAsked(_ worker: WorkerID, _ probe: ThreadProbe?) -> (WorkItem, Action)? {
        guard mayTakeWork, let item = items.popFirst() else { return nil }
        becameActive(worker, probe)
        return (item, balance())
    }

    mutating func workerDone(_ worker: WorkerID) {
        active -= 1
        activeProbes[worker] = nil
    }

    private mutating func becameActive(_ worker: WorkerID, _ probe: ThreadProbe?) {
        active += 1
        activeProbes[worker] = probe
    }

    mutating func workerParked() { parked += 1 }
    mutating func workerUnparked() { parked -= 1 }
    var mayEndWhenIdle: Bool { threads > cores }

    mutating func workerWillBlock(_ worker: WorkerID) -> Action {
        workerDone(worker)
        return balance()
    }

    /// It goes on at once, even if that makes one too many; others park as they finish.
    mutating func workerDidUnblock(_ worker: WorkerID, _ probe: ThreadProbe?) -> Action {
        becameActive(worker, probe)
        // Work that was about to be taken may now have to wait, and be watched.
        return balance()
    }

    /// The system made no thread; how many there are.
    mutating func threadRefused() -> Int {
        threads -= 1
        return threads
    }

    /// The workers among which some may be asleep, if it matters.
    var workersToWatch: [WorkerID: ThreadProbe] { needsWatching ? activeProbes : [:] }

    /// False if there is nothing to watch.
    mutating func foremanBeginsToWatch() -> Bool {
        watching = !needsWatching ? .no : isWorkPending ? .closely : .lazily
        return watching != .no
    }

    mutating func foremanTakesOrders() -> Int {
        defer { threadsWanted = 0 }
        return threadsWanted
    }

    /// The foreman counted active workers that sleep.
    mutating func workersFoundAsleep(_ count: Int) -> Action {
        asleep = count
        return balance()
    }
}
