/// Something for a worker to do.
enum WorkItem: Sendable {
    /// Run the best operations of a queue.
    case queue(OperationQueue, Urgency)
    /// Run a block: a completion block, or a share of a block operation.
    case block(@Sendable () -> Void, Urgency = .usual)
    /// Run a piece of a task that prefers this executor.
    case job(UnownedJob, PoolExecutor, Urgency)
    /// Run the next piece of a task that the executor keeps.
    case nextJob(PoolExecutor, Urgency)
    /// Call what is due.
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

/// Names a worker thread for as long as it lives: a small number, which is then given to another one.
struct WorkerID: Hashable, Sendable {
    let number: Int
}

/// What the pool has to do and who does it. Pure; the rules are in Scheduling.md, "Threads".
struct PoolState {
    /// By urgency.
    private var items = Urgency.allCases.map { _ in FIFO<WorkItem>() }
    private(set) var pendingCount = 0
    /// By urgency: how many more urgent items were taken while there were some, since one of them was.
    private var passedOver = Urgency.allCases.map { _ in 0 }
    /// An urgency that was passed over so often is served once.
    static let patience = 16
    private var cores: Int
    private let maximumThreads: Int

    /// All threads, those being made included.
    private(set) var threads = 0
    /// Those that sleep, the one that went to sleep last at the end.
    private var parked: [WorkerID] = []
    /// Those that were woken, or are being made, and have not looked for work yet.
    private var arriving = 0
    /// Whether one looks for work without being parked.
    private var isSearching = false
    /// By number: those that run something and are not inside a wait of ours, and how urgent that is.
    private var isActive: [Bool] = []
    private var urgencies: [Urgency] = []
    /// By urgency.
    private var activeCounts = Urgency.allCases.map { _ in 0 }
    /// Active workers that the foreman found asleep.
    private var asleep = 0
    /// Threads that the foreman has been asked for.
    private var threadsWanted = 0
    /// Whether some worker may have operations waiting behind the one it runs.
    private var hasBatches = false
    private var freeNumbers: [Int] = []
    /// How often the foreman looks by itself, so that it need not be called to watch.
    private var watching = Watching.no

    private enum Watching { case no, lazily, closely }

    init(cores: Int, maximumThreads: Int) {
        self.cores = cores
        self.maximumThreads = maximumThreads
    }

    private var limit: Int { cores + asleep }
    private var isWorkPending: Bool { pendingCount > 0 }

    /// The most urgent that there is to do.
    private var highestPending: Urgency? {
        if pendingCount == 0 { return nil }
        return Urgency.allCases.last { !items[$0.rawValue].isEmpty }
    }

    /// How many run something that is at least as urgent.
    private func activeCount(from urgency: Urgency) -> Int {
        activeCounts[urgency.rawValue...].reduce(0, +)
    }

    private var activeCount: Int { activeCount(from: .background) }

    /// The urgency of the item that a worker takes which may take the most urgent one: another one if that was passed
    /// over for too long, and nothing of its kind is at work.
    ///
    /// Where something is, the system gives it its share of the processors. So there is at most one worker more
    /// for each urgency than there would be; those that sleep do not count.
    private func nextUrgency(insteadOf highest: Urgency) -> Urgency {
        guard pendingCount > items[highest.rawValue].count else { return highest }
        let overdue = Urgency.allCases[..<highest.rawValue].last {
            passedOver[$0.rawValue] >= Self.patience && activeCounts[$0.rawValue] <= asleep
        }
        return overdue ?? highest
    }

    /// An item of that urgency was taken: the less urgent ones were passed over.
    private mutating func serves(_ urgency: Urgency) {
        passedOver[urgency.rawValue] = 0
        guard pendingCount > items[urgency.rawValue].count else { return }
        for lower in 0..<urgency.rawValue where !items[lower].isEmpty { passedOver[lower] += 1 }
    }

    /// Whether a free worker may take the most urgent item. If not, it may take none: at least as many run
    /// something as urgent as the others.
    private var mayTakeWork: Bool { highestPending.map { activeCount(from: $0) < limit } ?? false }

    /// More are active than should be, because some came back from a wait, or had something urgent to run.
    var isOverLimit: Bool { activeCount > limit }

    /// Whether the foreman has to look again soon.
    var needsWatching: Bool {
        asleep > 0 || hasBatches || (isWorkPending && (!mayTakeWork || lacksThread))
    }

    /// Whether nobody is there, or on the way, who could take work: the system has made no thread.
    private var lacksThread: Bool {
        arriving == 0 && !isSearching && parked.isEmpty && threads < maximumThreads
    }

    struct Action: Equatable {
        var wakes: WorkerID?
        var wakesMonitor = false
    }

    /// What to do so that no work lies about while somebody could take it.
    ///
    /// - Parameter mayMakeThread: whether it is worth while to ask for one.
    private mutating func balance(mayMakeThread: Bool = true) -> Action {
        var action = Action()
        if mayTakeWork, let highest = highestPending {
            // Those that are on their way take one each, as far as the limit goes.
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
            // Once is enough, until the foreman has come.
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

    /// Work for a worker that is free, and what it must do for the others before it begins.
    mutating func workerAsked(_ worker: WorkerID) -> (WorkItem, Action)? {
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

    /// Workers that run something and are not inside a wait of ours.
    var active: [WorkerID] {
        isActive.indices.filter { isActive[$0] }.map { WorkerID(number: $0) }
    }

    /// A worker found nothing; true if it may look on for a moment.
    mutating func workerSearches() -> Bool {
        guard !isSearching, activeCount < limit else { return false }
        isSearching = true
        return true
    }

    mutating func workerEndsSearch() { isSearching = false }

    mutating func workerParks(_ worker: WorkerID) { parked.append(worker) }

    /// It was made, or woken by somebody who took it off the list of the parked.
    mutating func workerArrives() { arriving -= 1 }

    /// It wakes by itself; false if somebody is about to wake it.
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

    /// It goes on at once, even if that makes one too many; others park as they finish.
    mutating func workerDidUnblock(_ worker: WorkerID) -> Action {
        becameActive(worker)
        // Work that was about to be taken may now have to wait, and be watched.
        return balance()
    }

    /// The system made no thread; how many there are, and what to do about it.
    ///
    /// The thread counted as being on its way. So nobody was woken for what has been submitted meanwhile, although
    /// there may be parked workers by now.
    mutating func threadRefused() -> (remaining: Int, Action) {
        threads -= 1
        arriving -= 1
        // The foreman asks for another one, but not at once: after his next look.
        return (threads, balance(mayMakeThread: false))
    }

    // MARK: The foreman

    /// A worker has claimed more than it can run at once.
    mutating func batchStarted() -> Action {
        hasBatches = true
        return balance()
    }

    mutating func monitorSawBatches(_ areThere: Bool) { hasBatches = areThere }

    enum Pause { case closely, lazily }

    /// How soon to look; nil if there is nothing to watch.
    mutating func monitorBeginsToWatch() -> Pause? {
        watching = !needsWatching ? .no : isWorkPending || hasBatches ? .closely : .lazily
        switch watching {
        case .no: return nil
        case .closely: return .closely
        case .lazily: return .lazily
        }
    }

    mutating func monitorTakesOrders() -> Int {
        defer { threadsWanted = 0 }
        return threadsWanted
    }

    /// The foreman counted active workers that sleep, and the processors.
    mutating func monitorCounted(asleep: Int, cores: Int) -> Action {
        self.asleep = asleep
        self.cores = cores
        return balance()
    }
}
