import OperationsTestSupport
import Testing

@testable import OperationsRuntime

/// The rules of the pool for several classes of workers, without threads.
@Suite(.timeLimit(.minutes(5)))
struct PoolClassesTests {
    private func item(_ urgency: Urgency) -> WorkItem { .block({}, urgency) }

    @Test func itemOrdersAThreadOfItsClass() {
        var pool = PoolState(cores: 4, maximumThreads: 10)
        for urgency in Urgency.allCases { #expect(pool.submitted(item(urgency)).wakesMonitor) }
        // Usual workers also run epilogues and timers. The background item then has to wait, but
        // its worker is on its way already.
        let expected: [Urgency] = [.background, .utility, .usual, .interactive, .usual, .usual]
        #expect(pool.monitorTakesThreadRequests() == expected)
    }

    @Test func parkedWorkerOfAnotherClassIsNotWoken() {
        var pool = PoolState(cores: 2, maximumThreads: 10)
        let usual = pool.parkedWorker(of: .usual)
        let action = pool.submitted(item(.background))
        #expect(action.wakes == nil && action.wakesMonitor)
        #expect(pool.monitorTakesThreadRequests() == [.background])
        #expect(pool.submitted(item(.usual)).wakes == usual)
    }

    /// The worker of a class finds nothing for itself and has to wake the next class.
    @Test func workerThatFindsNothingWakesAWorkerOfAnotherClass() {
        var pool = PoolState(cores: 1, maximumThreads: 10)
        let background = pool.parkedWorker(of: .background)
        _ = pool.submitted(item(.usual))
        #expect(pool.monitorTakesThreadRequests() == [.usual])
        let usual = pool.workerStarted(in: .usual)
        pool.workerArrives(usual)
        #expect(pool.workerRequestedItem(usual) != nil)
        #expect(pool.submitted(item(.background)).wakes == nil, "the only processor is in use")
        pool.workerDone(usual)
        #expect(pool.workerRequestedItem(usual) == nil)
        #expect(pool.workerFoundNothing(usual, hasSearched: true).1.wakes == background)
    }

    /// Three threads exist already, and no other is allowed.
    @Test func atTheLimitOfThreadsWorkersTakeTheItemsOfEveryClass() {
        var pool = PoolState(cores: 3, maximumThreads: 3)
        let workers = (0..<3).map { _ in pool.runningWorker(of: .usual) }
        for worker in workers { pool.parks(worker) }
        let action = pool.submitted(item(.background))
        #expect(action.wakes == workers[2])
        pool.workerArrives(workers[2])
        #expect(pool.workerRequestedItem(workers[2])?.0.urgency == .background)
    }

    @Test func afterAThreadWasRefusedWorkersTakeTheItemsOfEveryClass() {
        var pool = PoolState(cores: 2, maximumThreads: 10)
        let usual = pool.parkedWorker(of: .usual)
        #expect(pool.submitted(item(.background)).wakesMonitor)
        #expect(pool.monitorTakesThreadRequests() == [.background])
        #expect(pool.threadRefused(.background).1.wakes == usual)
        pool.workerArrives(usual)
        #expect(pool.workerRequestedItem(usual)?.0.urgency == .background)
        // After its next check, the monitor thread tries again.
        _ = pool.monitorCounted(asleep: 0, cores: 2)
        #expect(pool.submitted(item(.background)).wakesMonitor)
        #expect(pool.monitorTakesThreadRequests() == [.background])
    }

    /// Random events, with and without a lack of threads. In the end nothing new happens to the
    /// pool, and every item has been taken.
    @Test(arguments: [3, 12])
    func noItemIsForgotten(maximumThreads: Int) throws {
        for seed in seeds(count: rounds(2_000)) {
            var simulation = PoolSimulation(seed: seed, maximumThreads: maximumThreads)
            for _ in 0..<200 { simulation.step() }
            simulation.finish()
            try #require(simulation.pool.load.pendingCount == 0, "seed \(seed)")
            try #require(simulation.errors.isEmpty, "seed \(seed): \(simulation.errors)")
        }
    }
}

extension PoolState {
    /// Makes a worker that has taken an item of its class.
    fileprivate mutating func runningWorker(of workerClass: Urgency) -> WorkerID {
        _ = submitted(.block({}, workerClass))
        #expect(monitorTakesThreadRequests() == [workerClass])
        let worker = workerStarted(in: workerClass)
        workerArrives(worker)
        #expect(workerRequestedItem(worker) != nil)
        return worker
    }

    fileprivate mutating func parks(_ worker: WorkerID) {
        workerDone(worker)
        #expect(!workerFoundNothing(worker, hasSearched: true).searches)
    }

    fileprivate mutating func parkedWorker(of workerClass: Urgency) -> WorkerID {
        let worker = runningWorker(of: workerClass)
        parks(worker)
        return worker
    }
}

/// Simulates the threads of a pool. Each step is one event of one thread.
private struct PoolSimulation {
    private enum Phase { case arriving, searching, running, blocked, parked }

    private struct Thread {
        let id: WorkerID
        let workerClass: Urgency
        var phase: Phase
        var isMoving: Bool { phase != .parked && phase != .blocked }
    }

    private(set) var pool: PoolState
    private(set) var errors: [String] = []
    private var random: SplitMix64
    private var threads: [Thread] = []
    private var isMonitorCalled = false
    private var items = 0
    private let maximumThreads: Int
    private let cores: Int
    private var asleep = 0
    /// Whether the system has refused a thread since the monitor thread's last check.
    private var isShort = false

    init(seed: UInt64, maximumThreads: Int) {
        random = SplitMix64(seed: seed)
        self.maximumThreads = maximumThreads
        cores = 1 + random.below(3)
        pool = PoolState(cores: cores, maximumThreads: maximumThreads)
    }

    mutating func step() {
        switch random.below(12) {
        case 0, 1: submit()
        case 2: if isMonitorCalled || random.happens(1, in: 4) { monitorComes(mayRefuse: true) }
        case 3: check(asleep: random.below(3))
        case 4: endIdleWorker()
        default:
            guard !threads.isEmpty else { return }
            run(random.below(threads.count), mayBlock: true)
        }
        checkWakeUps()
    }

    /// Records an error if no worker is on its way and the rule of the pool, applied once more,
    /// wakes one: the last event should have woken it.
    private mutating func checkWakeUps() {
        let isComing = threads.contains { $0.phase == .arriving || $0.phase == .searching }
        guard !isComing, !isMonitorCalled, !isShort else { return }
        var copy = pool
        let action = copy.monitorCounted(asleep: asleep, cores: cores)
        if action.wakes != nil || !copy.monitorTakesThreadRequests().isEmpty {
            errors.append("a wake-up was lost")
        }
    }

    /// Lets everything happen that follows without a new item. Blocked workers return only when
    /// nothing else happens, as if they waited for the pending items.
    mutating func finish() {
        for _ in 0..<10_000 {
            if isMonitorCalled {
                monitorComes(mayRefuse: false)
            } else if let index = threads.firstIndex(where: \.isMoving) {
                run(index, mayBlock: false)
            } else if pool.needsWatching, pool.load.pendingCount > 0 {
                checkWakeUps()
                check(asleep: 0)
                if !isMonitorCalled, !threads.contains(where: { $0.phase == .arriving }) {
                    guard unblock() else { return }
                }
            } else if !unblock() {
                return
            }
        }
        errors.append("the simulation does not end")
    }

    // MARK: Events

    private mutating func submit() {
        items += 1
        guard let urgency = Urgency(rawValue: random.below(5)) else { return }
        perform(pool.submitted(.block({}, urgency)))
    }

    private mutating func monitorComes(mayRefuse: Bool) {
        isMonitorCalled = false
        for workerClass in pool.monitorTakesThreadRequests() {
            if mayRefuse, pool.load.threads > 1, random.happens(1, in: 4) {
                isShort = true
                perform(pool.threadRefused(workerClass).1)
            } else {
                let id = pool.workerStarted(in: workerClass)
                threads.append(Thread(id: id, workerClass: workerClass, phase: .arriving))
            }
        }
        _ = pool.monitorBeginsToWatch()
        if pool.load.threads > maximumThreads { errors.append("too many threads") }
    }

    private mutating func check(asleep: Int) {
        isShort = false
        self.asleep = min(asleep, pool.active.count)
        perform(pool.monitorCounted(asleep: self.asleep, cores: cores))
    }

    private mutating func endIdleWorker() {
        guard let index = threads.firstIndex(where: { $0.phase == .parked }), pool.mayEndWhenIdle
        else { return }
        let thread = threads.remove(at: index)
        if !pool.workerUnparks(thread.id) { errors.append("a parked worker is not in the list") }
        perform(pool.workerEnded(thread.id))
    }

    private mutating func unblock() -> Bool {
        guard let index = threads.firstIndex(where: { $0.phase == .blocked }) else { return false }
        run(index, mayBlock: false)
        return true
    }

    private mutating func run(_ index: Int, mayBlock: Bool) {
        let id = threads[index].id
        switch threads[index].phase {
        case .parked: break
        case .blocked:
            threads[index].phase = .running
            perform(pool.workerDidUnblock(id))
        case .running where mayBlock && random.happens(1, in: 3):
            threads[index].phase = .blocked
            perform(pool.workerWillBlock(id))
        case .running:
            pool.workerDone(id)
            ask(index, hasSearched: false)
        case .arriving:
            pool.workerArrives(id)
            ask(index, hasSearched: false)
        case .searching:
            pool.workerEndsSearch()
            ask(index, hasSearched: true)
        }
    }

    private mutating func ask(_ index: Int, hasSearched: Bool) {
        let thread = threads[index]
        let mayShare = isShort || pool.load.threads == maximumThreads
        if let (item, action) = pool.workerRequestedItem(thread.id) {
            threads[index].phase = .running
            if item.urgency.workerClass != thread.workerClass, !mayShare {
                errors.append("an item runs in the wrong class")
            }
            return perform(action)
        }
        let (searches, action) = pool.workerFoundNothing(thread.id, hasSearched: hasSearched)
        threads[index].phase = searches ? .searching : .parked
        perform(action)
    }

    private mutating func perform(_ action: PoolState.Action) {
        if action.wakesMonitor { isMonitorCalled = true }
        guard let id = action.wakes else { return }
        guard let index = threads.firstIndex(where: { $0.id == id }),
            threads[index].phase == .parked
        else { return errors.append("a worker was woken that is not parked") }
        threads[index].phase = .arriving
    }
}
