/// A work item for a worker.
package enum WorkItem: Sendable {
    /// Run the best operations of a queue.
    case queue(any WorkSource, Urgency)
    /// Run a block: a step of an epilogue, or a share of a block operation.
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

/// A queue, as the pool sees it.
package protocol WorkSource: AnyObject, Sendable {
    /// Runs the best operations of the queue on the calling thread, which is the worker's.
    ///
    /// - Parameter urgency: the urgency with which the queue was submitted.
    func run(on worker: Worker, offered urgency: Urgency, context: ThreadContext)
}

/// Identifies a worker thread during its life: a small number, which a later worker may receive
/// again.
package struct WorkerID: Hashable, Sendable {
    package let number: Int
}

/// The state of the pool: the pending items, and the workers that run them. Pure; see
/// WorkerThreads.md for the rules.
struct PoolState {
    /// The pending items of each urgency.
    private var items = Urgency.allCases.map { _ in FIFO<WorkItem>() }
    private(set) var load: PoolLoad

    private struct Member {
        /// See ``Urgency/workerClass``.
        let workerClass: Urgency
        /// Whether the worker runs an item and is outside the library's own waits.
        var isActive = false
        /// The urgency of the worker's last item.
        var urgency: Urgency
    }

    /// The workers, indexed by number.
    private var members: [Member] = []
    /// The parked workers of each class, the most recently parked one last.
    private var parked = Urgency.allCases.map { _ in [WorkerID]() }
    /// The classes of the threads that the monitor thread has been asked to create.
    private var threadsWanted: [Urgency] = []
    /// Whether some worker may have operations waiting behind its current operation.
    private var hasClaims = false
    private var freeNumbers: [Int] = []
    /// How often the monitor thread checks the workers without being woken. Meanwhile it need not
    /// be woken to watch.
    private var watching = Watching.no

    private enum Watching { case no, lazily, closely }

    init(cores: Int, maximumThreads: Int) {
        load = PoolLoad(cores: cores, maximumThreads: maximumThreads)
    }

    /// Whether the monitor thread has to check the workers again soon.
    var needsWatching: Bool {
        load.asleep > 0 || hasClaims || load.isShortOfThreads || load.need == .watch
            || load.isExhausted
    }

    struct Action: Equatable {
        var wakes: WorkerID?
        var wakesMonitor = false
    }

    /// Returns the action that keeps work from being left pending while a worker could take it.
    ///
    /// One worker is enough, even if several classes have work to take: a worker that arrives
    /// applies this rule again.
    private mutating func balance() -> Action {
        var isHeldUp = false
        switch load.need {
        case .nothing: break
        case .watch: isHeldUp = true
        case .worker(let workerClass):
            if let action = wakeWorker(of: workerClass) { return action }
            isHeldUp = load.isShortOfThreads || load.isExhausted
        }
        // One wake-up is enough until the monitor thread has come.
        guard watching != .closely, isHeldUp || hasClaims || (load.asleep > 0 && watching == .no)
        else { return Action() }
        watching = .closely
        return Action(wakesMonitor: true)
    }

    /// Wakes a parked worker that may run the items of a class, or asks for a new worker of the
    /// class. Returns nil if neither is possible.
    private mutating func wakeWorker(of workerClass: Urgency) -> Action? {
        for other in Urgency.fromMostUrgent where other == workerClass || load.sharesWorkers {
            guard let worker = parked[other.rawValue].popLast() else { continue }
            load.arriving[other] += 1
            return Action(wakes: worker)
        }
        if load.sharesWorkers { return nil }
        load.threads += 1
        load.arriving[workerClass] += 1
        threadsWanted.append(workerClass)
        return Action(wakesMonitor: true)
    }

    // MARK: Events

    mutating func submitted(_ item: WorkItem) -> Action {
        let urgency = item.urgency
        items[urgency.rawValue].append(item)
        load.itemSubmitted(urgency)
        return balance()
    }

    /// Records that the thread of a new worker has started.
    mutating func workerStarted(in workerClass: Urgency) -> WorkerID {
        let member = Member(workerClass: workerClass, urgency: workerClass)
        if let number = freeNumbers.popLast() {
            members[number] = member
            return WorkerID(number: number)
        }
        members.append(member)
        return WorkerID(number: members.count - 1)
    }

    mutating func workerEnded(_ worker: WorkerID) -> Action {
        load.threads -= 1
        freeNumbers.append(worker.number)
        return balance()
    }

    /// Returns an item for a free worker, and the action that the worker must perform for other
    /// workers before it begins.
    mutating func workerRequestedItem(_ worker: WorkerID) -> (WorkItem, Action)? {
        guard let urgency = load.nextUrgency(for: members[worker.number].workerClass),
            let item = items[urgency.rawValue].popFirst()
        else { return nil }
        load.itemTaken(urgency)
        members[worker.number].urgency = urgency
        becameActive(worker)
        return (item, balance())
    }

    private mutating func becameActive(_ worker: WorkerID) {
        members[worker.number].isActive = true
        load.active[members[worker.number].urgency] += 1
    }

    mutating func workerDone(_ worker: WorkerID) {
        members[worker.number].isActive = false
        load.active[members[worker.number].urgency] -= 1
    }

    /// The workers that run an item and are outside the library's own waits.
    var active: [WorkerID] {
        members.indices.filter { members[$0].isActive }.map { WorkerID(number: $0) }
    }

    /// Records that a worker found no work. Returns whether the worker may search for a moment; if
    /// not, the worker parks.
    ///
    /// The worker may have been on its way when other classes needed a worker, or may have left
    /// capacity to them. So the worker has to perform the returned action for them.
    mutating func workerFoundNothing(
        _ worker: WorkerID, hasSearched: Bool
    ) -> (searches: Bool, Action) {
        let workerClass = members[worker.number].workerClass
        let searches = !hasSearched && load.maySearch
        if searches {
            load.searching = workerClass
        } else {
            parked[workerClass.rawValue].append(worker)
        }
        return (searches, load.pendingCount > 0 ? balance() : Action())
    }

    mutating func workerEndsSearch() { load.searching = nil }

    /// Records that a worker arrived: its thread was created, or another thread took the worker off
    /// the list of parked workers and woke it.
    mutating func workerArrives(_ worker: WorkerID) {
        load.arriving[members[worker.number].workerClass] -= 1
    }

    /// Removes a worker that woke by itself from the parked workers. Returns false if another
    /// thread is about to wake that worker.
    mutating func workerUnparks(_ worker: WorkerID) -> Bool {
        let line = members[worker.number].workerClass.rawValue
        guard let index = parked[line].firstIndex(of: worker) else { return false }
        parked[line].remove(at: index)
        return true
    }

    var mayEndWhenIdle: Bool { load.threads > load.cores }

    mutating func workerWillBlock(_ worker: WorkerID) -> Action {
        workerDone(worker)
        load.waiting += 1
        return balance()
    }

    /// Records that a worker returned from a wait. The worker continues at once, even if one worker
    /// too many is then active; other workers park as they finish.
    mutating func workerDidUnblock(_ worker: WorkerID) -> Action {
        becameActive(worker)
        load.waiting -= 1
        // An item that was about to be taken may now have to stay pending, and be watched.
        return balance()
    }

    /// Records that the system refused to create a thread of a class. Returns the number of
    /// remaining threads and the action to perform.
    ///
    /// The refused thread counted as being on its way. So no worker was woken for items that were
    /// submitted meanwhile, although workers may have parked since. No other thread is requested
    /// until the monitor thread's next check.
    mutating func threadRefused(_ workerClass: Urgency) -> (remaining: Int, Action) {
        load.threads -= 1
        load.arriving[workerClass] -= 1
        load.isShortOfThreads = true
        // The monitor thread, the caller, finds by itself whether it has to watch.
        return (load.threads, Action(wakes: balance().wakes))
    }

    // MARK: The monitor thread

    /// Records that a worker has claimed more operations than it can run at once.
    mutating func claimStarted() -> Action {
        hasClaims = true
        return balance()
    }

    mutating func monitorSawClaims(_ areThere: Bool) { hasClaims = areThere }

    enum Pause { case closely, lazily }

    /// Returns how soon the monitor thread has to check the workers; nil if there is nothing to
    /// watch.
    mutating func monitorBeginsToWatch() -> Pause? {
        watching = !needsWatching ? .no : load.pendingCount > 0 || hasClaims ? .closely : .lazily
        switch watching {
        case .no: return nil
        case .closely: return .closely
        case .lazily: return .lazily
        }
    }

    /// Returns the classes of the threads to create.
    mutating func monitorTakesThreadRequests() -> [Urgency] {
        defer { threadsWanted = [] }
        return threadsWanted
    }

    /// Records the number of sleeping active workers and the number of processors, as the monitor
    /// thread counted them.
    mutating func monitorCounted(asleep: Int, cores: Int) -> Action {
        load.asleep = asleep
        load.cores = cores
        load.isShortOfThreads = false
        return balance()
    }
}
