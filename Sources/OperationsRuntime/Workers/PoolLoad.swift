/// A number for each urgency. A vector, because an array would be counted at each copy.
struct UrgencyCounts {
    private var numbers = SIMD8<Int32>()

    subscript(urgency: Urgency) -> Int {
        @inline(__always) get { Int(numbers[urgency.rawValue]) }
        @inline(__always) set { numbers[urgency.rawValue] = Int32(truncatingIfNeeded: newValue) }
    }

    var sum: Int {
        @inline(__always) get { Int(numbers.wrappedSum()) }
    }
}

/// The numbers that decide which item a worker takes and which worker is woken. Pure; see
/// WorkerThreads.md for the rules.
struct PoolLoad {
    /// The number of pending items of each urgency, and in total.
    private var pending = UrgencyCounts()
    private(set) var pendingCount = 0
    /// For each urgency with pending items, the number of more urgent items that were taken since
    /// an item of this urgency was last taken.
    private var passedOver = UrgencyCounts()
    /// The number of more urgent items after which a skipped urgency is served once.
    static let patience = 16
    /// The number of active workers of each urgency.
    var active = UrgencyCounts()
    /// The number of active workers that the monitor thread found asleep.
    var asleep = 0
    /// The number of workers inside of the library's own waits.
    var waiting = 0
    var cores: Int

    /// All threads, including threads that are being created.
    var threads = 0
    let maximumThreads: Int
    /// Whether the system has refused a thread since the monitor thread's last check.
    var isShortOfThreads = false
    /// For each class, the number of workers that were woken or are being created and have not
    /// looked for work yet.
    var arriving = UrgencyCounts()
    /// The class of the worker that searches for work without being parked, if there is one.
    var searching: Urgency?

    init(cores: Int, maximumThreads: Int) {
        self.cores = cores
        self.maximumThreads = maximumThreads
    }

    private var limit: Int { cores + asleep }

    /// Whether more workers are active than allowed, because some workers returned from a wait or
    /// had an urgent item to run.
    var isOverLimit: Bool { active.sum > limit }

    /// Whether one more worker may be active.
    var hasIdleProcessor: Bool { active.sum < limit }

    /// Whether a worker that found no work may search for a moment.
    var maySearch: Bool { searching == nil && hasIdleProcessor }

    /// Whether work waits for a thread while all threads that there may be are blocked.
    var isExhausted: Bool {
        pendingCount > 0 && threads >= maximumThreads && active.sum <= asleep && arriving.sum == 0
    }

    // MARK: Changes

    mutating func itemSubmitted(_ urgency: Urgency) {
        pending[urgency] += 1
        pendingCount += 1
    }

    /// Records that an item of this urgency was taken, so that the less urgent items were passed
    /// over.
    mutating func itemTaken(_ urgency: Urgency) {
        pending[urgency] -= 1
        pendingCount -= 1
        passedOver[urgency] = 0
        guard pendingCount > pending[urgency] else { return }
        for lower in Urgency.allCases where lower < urgency && pending[lower] > 0 {
            passedOver[lower] += 1
        }
    }

    // MARK: Items that may be taken

    /// The number of items of each urgency that workers may take now.
    ///
    /// Only workers that run something at least as urgent count as active, and more urgent pending
    /// items come first. An item that is overdue may be taken in any case.
    @inline(__always)
    private var available: UrgencyCounts {
        var available = UrgencyCounts()
        var (free, rest) = (limit, pendingCount)
        for urgency in Urgency.fromMostUrgent where rest > 0 {
            free -= active[urgency]
            let count = pending[urgency]
            if count == 0 { continue }
            available[urgency] = min(count, max(free, isOverdue(urgency) ? 1 : 0))
            free -= count
            rest -= count
        }
        return available
    }

    /// The number of usual items that workers may take now; nil if others are pending, too.
    ///
    /// Every item of an async body asks, and most programs have usual items only.
    @inline(__always)
    private var availableIfOnlyUsual: Int? {
        guard pending[.usual] == pendingCount else { return nil }
        let free =
            limit - active[.timer] - active[.epilogue] - active[.interactive] - active[.usual]
        return min(pendingCount, max(free, isOverdue(.usual) ? 1 : 0))
    }

    /// Whether an urgency with pending items was passed over for too long, while no item of that
    /// urgency is running.
    ///
    /// Where an item of that urgency is running, the system gives the item its share of the
    /// processors. So this rule adds at most one worker for each urgency. Workers that sleep do not
    /// count as running an item.
    @inline(__always)
    private func isOverdue(_ urgency: Urgency) -> Bool {
        passedOver[urgency] >= Self.patience && active[urgency] <= asleep
    }

    /// Returns the urgency of the item that a worker of this class may take now; nil if there is
    /// none. An overdue urgency comes before a more urgent one.
    func nextUrgency(for workerClass: Urgency) -> Urgency? {
        if pendingCount == 0 { return nil }
        if let count = availableIfOnlyUsual {
            return count > 0 && (workerClass == .usual || sharesWorkers) ? .usual : nil
        }
        let available = available
        var next: Urgency?
        for urgency in Urgency.fromMostUrgent
        where available[urgency] > 0 && (urgency.workerClass == workerClass || sharesWorkers) {
            if next == nil {
                next = urgency
            } else if isOverdue(urgency) {
                return urgency
            }
        }
        return next
    }

    // MARK: Workers that are needed

    /// Whether workers take the items of all classes, because no thread can be made.
    var sharesWorkers: Bool { isShortOfThreads || threads >= maximumThreads }

    enum Need: Equatable {
        /// No item is pending, or enough workers are on their way.
        case nothing
        /// Items of some urgency may not be taken now.
        case watch
        /// A class has more items to take than workers on their way. It is the most urgent such
        /// class.
        case worker(Urgency)
    }

    var need: Need {
        if pendingCount == 0 { return .nothing }
        if !sharesWorkers, let count = availableIfOnlyUsual {
            if count > arriving[.usual] + (searching == .usual ? 1 : 0) { return .worker(.usual) }
            return count == 0 ? .watch : .nothing
        }
        let available = available
        var need = Need.nothing
        for urgency in Urgency.fromMostUrgent where pending[urgency] > 0 {
            if lacksWorker(urgency.workerClass, for: available) {
                return .worker(urgency.workerClass)
            }
            if available[urgency] == 0 { need = .watch }
        }
        return need
    }

    /// Returns whether a class has more of the available items than workers on their way.
    @inline(__always)
    private func lacksWorker(_ workerClass: Urgency, for available: UrgencyCounts) -> Bool {
        if sharesWorkers { return available.sum > arriving.sum + (searching == nil ? 0 : 1) }
        var items = available[workerClass]
        if workerClass == .usual { items += available[.timer] + available[.epilogue] }
        return items > arriving[workerClass] + (searching == workerClass ? 1 : 0)
    }
}
