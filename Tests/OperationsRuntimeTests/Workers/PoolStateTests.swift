import OperationsTestSupport
import Testing

@testable import OperationsRuntime

/// The state machine of the worker pool, without threads.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct PoolStateTests {
    private func pool(cores: Int = 2) -> PoolState { PoolState(cores: cores, maximumThreads: 10) }
    private let item = WorkItem.block {}

    /// Makes a worker that has taken an item.
    private func activeWorker(_ pool: inout PoolState, _ item: WorkItem = .block {}) -> WorkerID {
        _ = pool.submitted(item)
        _ = pool.monitorTakesThreadRequests()
        let worker = pool.workerStarted(in: item.urgency.workerClass)
        pool.workerArrives(worker)
        #expect(pool.workerRequestedItem(worker) != nil)
        return worker
    }

    /// Parks a worker that has run its item.
    private func park(_ worker: WorkerID, in pool: inout PoolState) {
        pool.workerDone(worker)
        #expect(!pool.workerFoundNothing(worker, hasSearched: true).searches)
    }

    @Test func firstItemOrdersThread() {
        var pool = pool()
        #expect(pool.submitted(item).wakesMonitor)
        let orders = pool.monitorTakesThreadRequests()
        #expect(orders == [.usual])
        let again = pool.monitorTakesThreadRequests()
        #expect(again == [])
    }

    @Test func submittedItemWakesParkedWorker() {
        var pool = pool()
        let worker = activeWorker(&pool)
        park(worker, in: &pool)
        let action = pool.submitted(item)
        #expect(action.wakes == worker && !action.wakesMonitor)
    }

    @Test func itemForSearchingWorkerWakesNoOther() {
        var pool = pool()
        let workers = [activeWorker(&pool), activeWorker(&pool)]
        park(workers[0], in: &pool)
        pool.workerDone(workers[1])
        let (searches, _) = pool.workerFoundNothing(workers[1], hasSearched: false)
        #expect(searches)
        let first = pool.submitted(item)
        #expect(first.wakes == nil)
        let second = pool.submitted(item)
        #expect(second.wakes == workers[0], "the searching worker takes only one item")
    }

    @Test func noMoreItemsAreTakenThanCores() {
        var pool = pool()
        let workers = [activeWorker(&pool), activeWorker(&pool)]
        let action = pool.submitted(item)
        #expect(action.wakesMonitor, "the monitor thread has to watch the item")
        let again = pool.submitted(item)
        #expect(!again.wakesMonitor, "the monitor thread is already awake")
        let third = pool.workerStarted(in: .usual)
        let refused = pool.workerRequestedItem(third)
        #expect(refused == nil)
        let made = pool.workerWillBlock(workers[0])
        #expect(made.wakesMonitor || made.wakes != nil)
        let taken = pool.workerRequestedItem(third)
        #expect(taken != nil)
    }

    /// An item that a woken worker was about to take has to wait because another worker unblocked.
    /// The monitor thread must watch that item.
    @Test func unblockedWorkerLeavesNoItemUnwatched() {
        var pool = pool()
        let waiting = activeWorker(&pool)
        let parked = activeWorker(&pool)
        let running = activeWorker(&pool, afterBlocking: waiting)
        park(parked, in: &pool)
        let woken = pool.submitted(item)
        #expect(woken.wakes == parked)
        let action = pool.workerDidUnblock(waiting)
        #expect(action.wakesMonitor)
        #expect(pool.active == [waiting, running])
    }

    private func activeWorker(_ pool: inout PoolState, afterBlocking blocked: WorkerID) -> WorkerID
    {
        _ = pool.workerWillBlock(blocked)
        return activeWorker(&pool)
    }

    @Test func wokenWorkerDoesNotParkAgain() {
        var pool = pool()
        let worker = activeWorker(&pool)
        park(worker, in: &pool)
        _ = pool.submitted(item)
        let unparks = pool.workerUnparks(worker)
        #expect(!unparks, "another thread is about to wake the worker")
    }

    @Test func refusedThreadIsNotCounted() {
        var pool = pool()
        _ = pool.submitted(item)
        _ = pool.monitorTakesThreadRequests()
        let remaining = pool.threadRefused(.usual).remaining
        #expect(remaining == 0)
        #expect(pool.monitorBeginsToWatch() == .closely)
        #expect(pool.monitorCounted(asleep: 0, cores: 2).wakesMonitor)
        #expect(pool.monitorTakesThreadRequests() == [.usual], "the monitor thread tries once more")
    }

    @Test func monitorThreadWatchesUntilItSeesNoClaim() {
        var pool = pool()
        _ = activeWorker(&pool)
        let action = pool.claimStarted()
        #expect(action.wakesMonitor)
        let watches = pool.monitorBeginsToWatch()
        #expect(watches == .closely)
        pool.monitorSawClaims(false)
        let ends = pool.monitorBeginsToWatch()
        #expect(ends == nil)
    }

    private func item(_ urgency: Urgency) -> WorkItem { .block({}, urgency) }

    @Test func urgentItemDoesNotWaitForLessUrgentItems() {
        var pool = pool()
        for _ in 0..<2 { _ = activeWorker(&pool, item(.background)) }
        let action = pool.submitted(item(.interactive))
        #expect(action.wakesMonitor, "a thread is created for the item")
        let third = pool.workerStarted(in: .interactive)
        pool.workerArrives(third)
        let taken = pool.workerRequestedItem(third)
        #expect(taken?.0.urgency == .interactive)
        #expect(pool.load.isOverLimit, "the other workers take no more items")
    }

    @Test func lessUrgentItemWaitsForMoreUrgentItems() {
        var pool = pool()
        let workers = (0..<2).map { _ in activeWorker(&pool, item(.usual)) }
        _ = pool.submitted(item(.background))
        _ = pool.submitted(item(.usual))
        let background = pool.workerStarted(in: .background)
        #expect(pool.workerRequestedItem(background) == nil)
        pool.workerDone(workers[0])
        let early = pool.workerRequestedItem(background)
        #expect(early == nil, "the free processor is for the more urgent item")
        let first = pool.workerRequestedItem(workers[0])
        #expect(first?.0.urgency == .usual, "the urgent item goes first, though submitted later")
        pool.workerDone(workers[0])
        let second = pool.workerRequestedItem(background)
        #expect(second?.0.urgency == .background)
    }

    @Test func timersDoNotWaitEvenForMostUrgentItems() {
        var pool = pool()
        for _ in 0..<2 { _ = activeWorker(&pool, item(.interactive)) }
        #expect(pool.submitted(item(.timer)).wakesMonitor, "a thread is created for the timer")
    }

    @Test func claimsAreWatchedAtOnceWhileWorkerSleeps() {
        var pool = pool()
        _ = activeWorker(&pool, item(.usual))
        _ = pool.monitorCounted(asleep: 1, cores: 2)
        #expect(pool.monitorBeginsToWatch() == .lazily)
        #expect(pool.claimStarted().wakesMonitor)
    }

    @Test func refusedThreadIsOrderedAgain() {
        var pool = pool()
        let worker = activeWorker(&pool, item(.usual))
        _ = pool.workerWillBlock(worker)
        #expect(pool.submitted(item(.usual)).wakesMonitor)
        #expect(pool.monitorTakesThreadRequests() == [.usual])
        let refused = pool.threadRefused(.usual)
        #expect(refused.remaining == 1)
        #expect(!refused.1.wakesMonitor, "not at once: the monitor thread would do nothing else")
        #expect(pool.monitorBeginsToWatch() == .closely)
        #expect(pool.monitorCounted(asleep: 0, cores: 2).wakesMonitor)
        #expect(pool.monitorTakesThreadRequests() == [.usual])
    }

    /// A thread is ordered. Before the system refuses it, the only worker does that work and parks.
    @Test func itemLeftToRefusedThreadWakesParkedWorker() {
        var pool = pool()
        let worker = activeWorker(&pool)
        #expect(pool.submitted(item).wakesMonitor)
        pool.workerDone(worker)
        #expect(pool.workerRequestedItem(worker) != nil)
        pool.workerDone(worker)
        #expect(pool.workerRequestedItem(worker) == nil)
        #expect(!pool.workerFoundNothing(worker, hasSearched: true).searches)
        #expect(pool.submitted(item).wakes == nil, "the thread that is being created takes it")
        #expect(pool.monitorTakesThreadRequests() == [.usual])
        #expect(pool.threadRefused(.usual).1.wakes == worker)
    }

    @Test func unblockedWorkerCountsAsBefore() {
        var pool = pool()
        let workers = (0..<2).map { _ in activeWorker(&pool, item(.background)) }
        _ = pool.workerWillBlock(workers[0])
        _ = pool.workerDidUnblock(workers[0])
        _ = pool.submitted(item(.interactive))
        let third = pool.workerStarted(in: .interactive)
        #expect(pool.workerRequestedItem(third) != nil)
        _ = pool.submitted(item(.background))
        pool.workerDone(third)
        #expect(pool.workerRequestedItem(third) == nil)
        let fourth = pool.workerStarted(in: .background)
        #expect(pool.workerRequestedItem(fourth) == nil)
    }

    // MARK: Aging

    /// The urgencies of the items that a single processor runs, one after the other, while items of
    /// each of `urgencies` always wait.
    private func served(_ urgencies: [Urgency], turns: Int) -> [Urgency] {
        var pool = pool(cores: 1)
        for urgency in urgencies { _ = pool.submitted(item(urgency)) }
        // The workers for less urgent items ask first.
        let workers = urgencies.sorted().map { pool.workerStarted(in: $0) }
        return (0..<turns).compactMap { _ in
            for worker in workers {
                guard let (taken, _) = pool.workerRequestedItem(worker) else { continue }
                pool.workerDone(worker)
                _ = pool.submitted(taken)
                return taken.urgency
            }
            return nil
        }
    }

    @Test(arguments: [
        [Urgency.interactive, .usual], [.usual, .background],
        [.interactive, .usual, .utility, .background],
    ])
    func lessUrgentItemsRunAfterBeingPassedOver(urgencies: [Urgency]) {
        let turns = served(urgencies, turns: 1_000)
        let patience = PoolLoad.patience
        #expect(turns.count == 1_000)
        #expect(turns[..<patience].allSatisfy { $0 == urgencies[0] })
        for urgency in urgencies.dropFirst() {
            let gaps = zip(
                turns.indices.filter { turns[$0] == urgency },
                turns.indices.filter { turns[$0] == urgency }.dropFirst()
            ).map { $1 - $0 }
            // The item runs right after it was passed over that often, or a few turns later if
            // items of other urgencies were overdue as well.
            #expect(!gaps.isEmpty && gaps.allSatisfy { $0 > patience })
            #expect(gaps.allSatisfy { $0 <= patience + 2 * urgencies.count })
        }
        // The most urgent items get most of the turns.
        #expect(turns.count { $0 == urgencies[0] } > 800)
    }

    /// A running item gets its share of processor time from the system. So the number of running
    /// items that compute for long must not grow.
    @Test func urgencyWithRunningItemDoesNotAge() {
        var pool = pool(cores: 1)
        for _ in 0..<3 { _ = pool.submitted(item(.background)) }
        let interactive = pool.workerStarted(in: .interactive)
        var background = pool.workerStarted(in: .background)
        var computing: [WorkerID] = []
        func take() -> Urgency? {
            _ = pool.submitted(item(.interactive))
            if pool.workerRequestedItem(background) != nil {
                // The item runs for long; the next one needs another worker.
                computing.append(background)
                background = pool.workerStarted(in: .background)
                return .background
            }
            guard let (taken, _) = pool.workerRequestedItem(interactive) else { return nil }
            pool.workerDone(interactive)
            return taken.urgency
        }
        var turns = (0..<200).map { _ in take() }
        #expect(turns.count { $0 == .background } == 1 && turns.count { $0 == .interactive } == 199)
        pool.workerDone(computing[0])
        turns = (0..<200).map { _ in take() }
        #expect(turns[0] == .background, "the urgency has been passed over often enough meanwhile")
        #expect(turns.count { $0 == .background } == 1)
        // The worker of that item sleeps.
        _ = pool.monitorCounted(asleep: 1, cores: 1)
        turns = (0..<200).map { _ in take() }
        #expect(turns.count { $0 == .background } == 1)
    }

    @Test func nothingAgesWhileNothingWaits() {
        var pool = pool(cores: 1)
        let worker = activeWorker(&pool, item(.interactive))
        for _ in 0..<100 {
            pool.workerDone(worker)
            _ = pool.submitted(item(.interactive))
            #expect(pool.workerRequestedItem(worker)?.0.urgency == .interactive)
        }
        pool.workerDone(worker)
        _ = pool.submitted(item(.background))
        _ = pool.submitted(item(.interactive))
        let background = pool.workerStarted(in: .background)
        #expect(pool.workerRequestedItem(background) == nil)
        #expect(pool.workerRequestedItem(worker)?.0.urgency == .interactive)
    }
}
