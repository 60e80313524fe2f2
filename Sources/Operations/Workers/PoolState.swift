/// A work item for a worker.
enum WorkItem: Sendable {
    /// Run the best operations of a queue.
    case queue(OperationQueue, Urgency)
    /// Run a block: a completion block, or a share of a block operation.
    case block(@Sendable () -> Void, Urgency = .usual)
    /// Run a job of a task that prefers this executor.
    case job(UnownedJob, PoolExecutor, Urgency)
    /// Run the next job that the executor keeps.
    case nextJob(PoolExecutor, Urgency)
    /// Call the action of a timer that is due.
    case timer(PoolTimer)

    var urgency: Urgency {
        switch self {
        case .queue(_, let urgency), .block(_, let urgency), .job(_, _, let urgency),
            .nextJob(_, let urgency):
            urgency
        case .timer: .timer
        }
    }
}

/// Identifies a worker thread during its life: a small number, which a later worker may receive
/// again.
struct WorkerID: Hashable, Sendable {
    let number: Int
}

/// The state of the pool: the pending items, and the workers that run them. Pure; see
/// WorkerThreads.md for the rules.
struct PoolState {
    /// The pending items of each urgency.
    private var items = Urgency.allCases.map { _ in FIFO<WorkItem>() }
    private(set) var pendingCount = 0
    /// For each urgency with pending items, the number of more urgent items that were taken since
    /// an item of this urgency was last taken.
    private var passedOver = Urgency.allCases.map { _ in 0 }
    /// The number of more urgent items after which an urgency that was passed over is served once.
    static let patience = 16
    private var cores: Int
    private let maximumThreads: Int

    /// All threads, including threads that are being created.
    private(set) var threads = 0
    /// The parked workers, the most recently parked one last.
    private var parked: [WorkerID] = []
    /// The number of workers that were woken or are being created and have not looked for work yet.
    private var arriving = 0
    /// Whether a worker is searching for work without being parked.
    private var isSearching = false
    /// Indexed by worker number: whether the worker runs an item and is outside the library's own
    /// waits, and the urgency of that item.
    private var isActive: [Bool] = []
    private var urgencies: [Urgency] = []
    /// The number of active workers of each urgency.
    private var activeCounts = Urgency.allCases.map { _ in 0 }
    /// The number of active workers that the monitor thread found asleep.
    private var asleep = 0
    /// The number of threads that the monitor thread has been asked to create.
    private var threadsWanted = 0
    /// Whether some worker may have operations waiting behind its current operation.
    private var hasBatches = false
    private var freeNumbers: [Int] = []
    /// How often the monitor thread checks the workers without being woken. Meanwhile it need not
    /// be woken to watch.
    private var watching = Watching.no

    private enum Watching { case no, lazily, closely }

    init(cores: Int, maximumThreads: Int) {
        self.cores = cores
        self.maximumThreads = maximumThreads
    }

    private var limit: Int { cores + asleep }
    private var isWorkPending: Bool { pendingCount > 0 }

    /// The urgency of the most urgent pending item.
    private var highestPending: Urgency? {
        if pendingCount == 0 { return nil }
        return Urgency.allCases.last { !items[$0.rawValue].isEmpty }
    }

    /// Returns the number of workers that run an item at least as urgent as `urgency`.
    private func activeCount(from urgency: Urgency) -> Int {
        activeCounts[urgency.rawValue...].reduce(0, +)
    }

    private var activeCount: Int { activeCount(from: .background) }

    /// Returns the urgency of the item that a worker takes when it may take an item of the urgency
    /// `highest`. That is a lower urgency if it was passed over for too long and no item of that
    /// urgency is running.
    ///
    /// Where an item of that urgency is running, the system gives the item its share of the
    /// processors. So this rule adds at most one worker for each urgency. Workers that sleep do not
    /// count as running an item.
    private func nextUrgency(insteadOf highest: Urgency) -> Urgency {
        guard pendingCount > items[highest.rawValue].count else { return highest }
        let overdue = Urgency.allCases[..<highest.rawValue].last {
            passedOver[$0.rawValue] >= Self.patience && activeCounts[$0.rawValue] <= asleep
        }
        return overdue ?? highest
    }

    /// Records that an item of this urgency was taken, so that the less urgent items were passed
    /// over.
    private mutating func serves(_ urgency: Urgency) {
        passedOver[urgency.rawValue] = 0
        guard pendingCount > items[urgency.rawValue].count else { return }
        for lower in 0..<urgency.rawValue where !items[lower].isEmpty { passedOver[lower] += 1 }
    }

    /// Whether a free worker may take the most urgent item. If not, the worker may take no other
    /// item either: for a less urgent item at least as many workers count as active.
    private var mayTakeWork: Bool { highestPending.map { activeCount(from: $0) < limit } ?? false }

    /// Whether more workers are active than allowed, because some workers returned from a wait or
    /// had an urgent item to run.
    var isOverLimit: Bool { activeCount > limit }

    /// Whether the monitor thread has to check the workers again soon.
    var needsWatching: Bool {
        asleep > 0 || hasBatches || (isWorkPending && (!mayTakeWork || lacksThread))
    }

    /// Whether no worker is available or on its way to take work, although more threads are
    /// allowed: the system has refused to create a thread.
    private var lacksThread: Bool {
        arriving == 0 && !isSearching && parked.isEmpty && threads < maximumThreads
    }

    struct Action: Equatable {
        var wakes: WorkerID?
        var wakesMonitor = false
    }

    /// Returns the action that keeps work from being left pending while a worker could take it.
    ///
    /// - Parameter mayMakeThread: Whether asking for a new thread is worthwhile.
    private mutating func balance(mayMakeThread: Bool = true) -> Action {
        var action = Action()
        if mayTakeWork, let highest = highestPending {
            // Workers on their way take one item each, up to the limit.
            let coming = arriving + (isSearching ? 1 : 0)
            guard pendingCount > coming, activeCount(from: highest) + coming < limit else {
                return action
            }
            if let worker = parked.popLast() {
                arriving += 1
                action.wakes = worker
            } else if mayMakeThread, threads < maximumThreads {
                threads += 1
                threadsWanted += 1
                arriving += 1
                action.wakesMonitor = true
            }
        } else if needsWatching, watching != .closely,
            isWorkPending || hasBatches || watching == .no
        {
            // One wake-up is enough until the monitor thread has come.
            watching = .closely
            action.wakesMonitor = true
        }
        return action
    }

    // MARK: Events

    mutating func submitted(_ item: WorkItem) -> Action {
        items[item.urgency.rawValue].append(item)
        pendingCount += 1
        return balance()
    }

    mutating func workerStarted() -> WorkerID {
        if let number = freeNumbers.popLast() { return WorkerID(number: number) }
        isActive.append(false)
        urgencies.append(.usual)
        return WorkerID(number: isActive.count - 1)
    }

    mutating func workerEnded(_ worker: WorkerID) -> Action {
        threads -= 1
        freeNumbers.append(worker.number)
        return balance()
    }

    /// Returns an item for a free worker, and the action that the worker must perform for other
    /// workers before it begins.
    mutating func workerRequestedItem(_ worker: WorkerID) -> (WorkItem, Action)? {
        guard mayTakeWork, let highest = highestPending else { return nil }
        let urgency = nextUrgency(insteadOf: highest)
        guard let item = items[urgency.rawValue].popFirst() else { return nil }
        pendingCount -= 1
        serves(urgency)
        urgencies[worker.number] = urgency
        becameActive(worker)
        return (item, balance())
    }

    private mutating func becameActive(_ worker: WorkerID) {
        isActive[worker.number] = true
        activeCounts[urgencies[worker.number].rawValue] += 1
    }

    mutating func workerDone(_ worker: WorkerID) {
        isActive[worker.number] = false
        activeCounts[urgencies[worker.number].rawValue] -= 1
    }

    /// The workers that run an item and are outside the library's own waits.
    var active: [WorkerID] {
        isActive.indices.filter { isActive[$0] }.map { WorkerID(number: $0) }
    }

    /// Records that a worker found no work. Returns true if the worker may search for a moment.
    mutating func workerSearches() -> Bool {
        guard !isSearching, activeCount < limit else { return false }
        isSearching = true
        return true
    }

    mutating func workerEndsSearch() { isSearching = false }

    mutating func workerParks(_ worker: WorkerID) { parked.append(worker) }

    /// Records that a worker arrived: its thread was created, or another thread took the worker off
    /// the list of parked workers and woke it.
    mutating func workerArrives() { arriving -= 1 }

    /// Removes a worker that woke by itself from the parked workers. Returns false if another
    /// thread is about to wake that worker.
    mutating func workerUnparks(_ worker: WorkerID) -> Bool {
        guard let index = parked.firstIndex(of: worker) else { return false }
        parked.remove(at: index)
        return true
    }

    var mayEndWhenIdle: Bool { threads > cores }

    mutating func workerWillBlock(_ worker: WorkerID) -> Action {
        workerDone(worker)
        return balance()
    }

    /// Records that a worker returned from a wait. The worker continues at once, even if one worker
    /// too many is then active; other workers park as they finish.
    mutating func workerDidUnblock(_ worker: WorkerID) -> Action {
        becameActive(worker)
        // An item that was about to be taken may now have to stay pending, and be watched.
        return balance()
    }

    /// Records that the system refused to create a thread. Returns the number of remaining threads
    /// and the action to perform.
    ///
    /// The refused thread counted as being on its way. So no worker was woken for items that were
    /// submitted meanwhile, although workers may have parked since.
    mutating func threadRefused() -> (remaining: Int, Action) {
        threads -= 1
        arriving -= 1
        // The monitor thread asks for another thread, not at once but after its next check.
        return (threads, balance(mayMakeThread: false))
    }

    // MARK: The monitor thread

    /// Records that a worker has claimed more operations than it can run at once.
    mutating func batchStarted() -> Action {
        hasBatches = true
        return balance()
    }

    mutating func monitorSawBatches(_ areThere: Bool) { hasBatches = areThere }

    enum Pause { case closely, lazily }

    /// Returns how soon the monitor thread has to check the workers; nil if there is nothing to
    /// watch.
    mutating func monitorBeginsToWatch() -> Pause? {
        watching = !needsWatching ? .no : isWorkPending || hasBatches ? .closely : .lazily
        switch watching {
        case .no: return nil
        case .closely: return .closely
        case .lazily: return .lazily
        }
    }

    mutating func monitorTakesThreadRequests() -> Int {
        defer { threadsWanted = 0 }
        return threadsWanted
    }

    /// Records the number of sleeping active workers and the number of processors, as the monitor
    /// thread counted them.
    mutating func monitorCounted(asleep: Int, cores: Int) -> Action {
        self.asleep = asleep
        self.cores = cores
        return balance()
    }
}
