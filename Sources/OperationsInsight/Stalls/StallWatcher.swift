import Operations
import OperationsRuntime
import Synchronization

/// Looks from time to time at all queues whose stalls are reported, on one thread of the process.
///
/// The thread exists while there are such queues. It calls no code of users: the handlers, and the
/// explanations, which read overrides, have another thread, which exists while there is something
/// to report.
final class StallWatcher: Sendable {
    /// The watcher of the process.
    static let shared: StallWatcher = {
        let reporter = StallReporter()
        return StallWatcher(now: monotonicNanoseconds, hasThread: true) { reporter.perform($0) }
    }()

    private struct State {
        var queues: [ObjectIdentifier: WatchedQueue] = [:]
        var isRunning = false
    }

    private let now: @Sendable () -> UInt64
    /// Whether the watcher looks by itself; false for tests, which call ``look()``.
    private let hasThread: Bool
    private let perform: @Sendable (@escaping @Sendable () -> Void) -> Void
    private let state = Locked(State())
    private let changes = Latch()

    /// - Parameters:
    ///   - now: returns the time in nanoseconds.
    ///   - perform: performs reports in their order.
    init(
        now: @escaping @Sendable () -> UInt64, hasThread: Bool = false,
        performing perform: @escaping @Sendable (@escaping @Sendable () -> Void) -> Void
    ) {
        (self.now, self.hasThread, self.perform) = (now, hasThread, perform)
    }

    // MARK: Queues

    /// Watches a queue until the reports end or the queue is deinitialized.
    func add(_ queue: WatchedQueue) {
        PoolExecutor.countsPieces = true
        queue.begin(at: now())
        let starts = state.withLock { state in
            state.queues[ObjectIdentifier(queue)] = queue
            guard hasThread, !state.isRunning else { return false }
            state.isRunning = true
            return true
        }
        if starts, !startThread(named: "Operation-stall", { self.run() }) {
            // The next queue tries it again.
            state.withLock { $0.isRunning = false }
        }
        changes.open()
    }

    func remove(_ queue: WatchedQueue) {
        // The object is released without the lock: it holds the user's handler.
        let removed = state.withLock { $0.queues.removeValue(forKey: ObjectIdentifier(queue)) }
        if removed != nil { changes.open() }
    }

    // MARK: Looking

    private func run() {
        while true {
            // Closed before the thread asks what is due: whoever opens the latch has added or
            // removed a queue before.
            changes.close()
            guard let next = next() else { return }
            let now = now()
            if next > now {
                changes.wait(nanoseconds: next - now)
            } else {
                look()
            }
        }
    }

    /// Returns when the next queue is due; nil if there is none, and then the thread ends.
    private func next() -> UInt64? {
        state.withLock { state in
            let next = state.queues.values.map(\.due).min()
            if next == nil { state.isRunning = false }
            return next
        }
    }

    /// Looks at all queues that are due.
    func look() {
        let now = now()
        for queue in state.withLock({ Array($0.queues.values) }) where queue.due <= now {
            switch queue.look(at: now, clock: self.now) {
            case .nothing: break
            case .report(let report): perform(report)
            case .over: remove(queue)
            }
        }
    }
}

/// A queue whose stalls are reported.
///
/// Unchecked: only one thread at a time looks, the watcher's. The rest is constant or atomic.
final class WatchedQueue: @unchecked Sendable {
    private let entry: QueueRegistry.Entry
    private let pause: UInt64
    private let operationLimit: Duration
    private let handler: @Sendable (OperationQueueStall) -> Void
    private var watch: StallWatch
    private let nextLook = Atomic<UInt64>(0)
    /// The time before which the queue's operations are not looked at, because that takes long.
    private var nextPulse: UInt64 = 0
    private let isOver = Atomic<Bool>(false)

    /// - Parameter operationLimit: nil for no reports of single operations.
    init(
        _ queue: OperationQueue, limit: Duration, operationLimit: Duration?,
        _ handler: @escaping @Sendable (OperationQueueStall) -> Void
    ) {
        entry = QueueRegistry.entry(of: queue)
        let own = Self.nanoseconds(limit)
        let others = operationLimit.map(Self.nanoseconds)
        watch = StallWatch(limit: own, operationLimit: others)
        pause = max(min(own, others ?? own) / 8, 10_000_000)
        self.operationLimit = .nanoseconds(Int64(clamping: others ?? own))
        self.handler = handler
    }

    private static func nanoseconds(_ limit: Duration) -> UInt64 {
        max(limit.limitedToLongestTime.wholeNanoseconds, 1_000_000)
    }

    /// When the queue is to be looked at next. Queues of the same limit are due together.
    var due: UInt64 { nextLook.load(ordering: .relaxed) }

    func end() { isOver.store(true, ordering: .relaxed) }

    /// Takes the first sample; the time counts from here on.
    func begin(at now: UInt64) {
        nextLook.store((now / pause + 1) * pause, ordering: .relaxed)
        if let queue = entry.queue { _ = sample(queue, at: now) { now } }
    }

    enum Look {
        case nothing
        /// There is something to report, by a call of this function.
        case report(@Sendable () -> Void)
        /// The reports are over.
        case over
    }

    /// Looks at the queue.
    ///
    /// - Parameter clock: returns the time at which it is called.
    func look(at now: UInt64, clock: () -> UInt64) -> Look {
        guard !isOver.load(ordering: .relaxed), let queue = entry.queue else { return .over }
        nextLook.store((now / pause + 1) * pause, ordering: .relaxed)
        guard let (verdict, pulse) = sample(queue, at: now, clock) else { return .nothing }
        return .report { [self] in report(verdict, of: queue, pulse) }
    }

    private func sample(
        _ queue: OperationQueue, at now: UInt64, _ clock: () -> UInt64
    ) -> (StallWatch.Verdict, QueuePulse)? {
        let totals = queue.totals
        let unfinished = totals.unfinished + totals.unfinishedBarriers
        var pulse: QueuePulse?
        if unfinished == 0 {
            pulse = QueuePulse()
        } else if now >= nextPulse {
            let start = clock()
            pulse = queue.pulse(watch.known)
            // At most a twentieth of a processor, however many operations the queue holds.
            let end = clock()
            nextPulse = now + 20 * (end > start ? end - start : 0)
        }
        let verdict = watch.update(
            with: StallWatch.Sample(
                ended: totals.added + totals.barriersAdded - unfinished,
                isSuspended: totals.isSuspended, pulse: pulse), at: now)
        return verdict.flatMap { verdict in pulse.map { (verdict, $0) } }
    }

    // MARK: Reporting

    /// Calls the handler, unless what was seen has gone on meanwhile, or waits for what goes on by
    /// itself.
    private func report(
        _ verdict: StallWatch.Verdict, of queue: OperationQueue, _ pulse: QueuePulse
    ) {
        if isOver.load(ordering: .relaxed) { return }
        let overdue = verdict.operations.compactMap { identity, node, nanoseconds in
            identity.operation.map { ($0, node, nanoseconds) }
        }
        .filter { operation, node, _ in
            if let node {
                !operation.waitsForOthersThatGoOn(inNode: node, limit: operationLimit)
            } else {
                !operation.waitsForOthersThatGoOn(limit: operationLimit)
            }
        }
        let operations = overdue.map { operation, node, nanoseconds in
            OperationQueueStall.LongOperation(operation, node: node, nanoseconds, in: queue)
        }
        if let duration = verdict.queue,
            pulse.readyCount > 0 || queue.isHeldBackForGood(beyond: operationLimit)
        {
            return handler(
                OperationQueueStall(queue, duration, pulse, operations, queue.explain()))
        }
        guard let longest = overdue.map(\.2).max() else { return }
        // Several nodes may be of one graph.
        var seen: Set<ObjectIdentifier> = []
        let explained = overdue.map(\.0).filter {
            seen.insert(ObjectIdentifier($0)).inserted
        }
        handler(
            OperationQueueStall(
                queue, longest, pulse, isOfWholeQueue: false, operations,
                queue.explain(explained)))
    }
}

/// Performs reports one after the other, on a thread that exists while there are some.
private final class StallReporter: Sendable {
    private struct State {
        var reports: [@Sendable () -> Void] = []
        var isRunning = false
    }

    private let state = Locked(State())

    func perform(_ report: @escaping @Sendable () -> Void) {
        let starts = state.withLock { state in
            state.reports.append(report)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        // Without a thread, the next report tries it again.
        if starts, !startThread(named: "Operation-stall", { self.run() }) {
            state.withLock { $0.isRunning = false }
        }
    }

    private func run() {
        while true {
            let reports: [@Sendable () -> Void] = state.withLock { state in
                if state.reports.isEmpty { state.isRunning = false }
                defer { state.reports = [] }
                return state.reports
            }
            if reports.isEmpty { return }
            for report in reports { report() }
        }
    }
}
