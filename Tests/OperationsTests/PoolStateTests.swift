import OperationsTestSupport
import Testing

@testable import Operations

/// The state machine of the worker pool, without threads.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct PoolStateTests {
    private func pool(cores: Int = 2) -> PoolState { PoolState(cores: cores, maximumThreads: 10) }
    private let item = WorkItem.block {}

    /// Makes a worker that has taken an item.
    private func activeWorker(_ pool: inout PoolState, _ item: WorkItem = .block {}) -> WorkerID {
        _ = pool.submitted(item)
        _ = pool.monitorTakesThreadRequests()
        let worker = pool.workerStarted()
        pool.workerArrives()
        #expect(pool.workerRequestedItem(worker) != nil)
        return worker
    }

    @Test func firstItemOrdersThread() {
        var pool = pool()
        #expect(pool.submitted(item).wakesMonitor)
        let orders = pool.monitorTakesThreadRequests()
        #expect(orders == 1)
        let again = pool.monitorTakesThreadRequests()
        #expect(again == 0)
    }

    @Test func submittedItemWakesParkedWorker() {
        var pool = pool()
        let worker = activeWorker(&pool)
        pool.workerDone(worker)
        pool.workerParks(worker)
        let action = pool.submitted(item)
        #expect(action.wakes == worker && !action.wakesMonitor)
    }

    @Test func itemForSearchingWorkerWakesNoOther() {
        var pool = pool()
        let workers = [activeWorker(&pool), activeWorker(&pool)]
        for worker in workers { pool.workerDone(worker) }
        pool.workerParks(workers[0])
        let searches = pool.workerSearches()
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
        let third = pool.workerStarted()
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
        pool.workerDone(parked)
        pool.workerParks(parked)
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
        pool.workerDone(worker)
        pool.workerParks(worker)
        _ = pool.submitted(item)
        let unparks = pool.workerUnparks(worker)
        #expect(!unparks, "another thread is about to wake the worker")
    }

    @Test func refusedThreadIsNotCounted() {
        var pool = pool()
        _ = pool.submitted(item)
        _ = pool.monitorTakesThreadRequests()
        let remaining = pool.threadRefused().remaining
        #expect(remaining == 0)
        let action = pool.submitted(item)
        #expect(action.wakesMonitor, "the monitor thread tries once more")
    }

    @Test func monitorThreadWatchesUntilItSeesNoBatch() {
        var pool = pool()
        _ = activeWorker(&pool)
        let action = pool.batchStarted()
        #expect(action.wakesMonitor)
        let watches = pool.monitorBeginsToWatch()
        #expect(watches == .closely)
        pool.monitorSawBatches(false)
        let ends = pool.monitorBeginsToWatch()
        #expect(ends == nil)
    }

    private func item(_ urgency: Urgency) -> WorkItem { .queue(OperationQueue(), urgency) }

    @Test func urgentItemDoesNotWaitForLessUrgentItems() {
        var pool = pool()
        for _ in 0..<2 { _ = activeWorker(&pool, item(.background)) }
        let action = pool.submitted(item(.interactive))
        #expect(action.wakesMonitor, "a thread is created for the item")
        let third = pool.workerStarted()
        pool.workerArrives()
        let taken = pool.workerRequestedItem(third)
        #expect(taken?.0.urgency == .interactive)
        #expect(pool.isOverLimit, "the other workers take no more items")
    }

    @Test func lessUrgentItemWaitsForMoreUrgentItems() {
        var pool = pool()
        let workers = (0..<2).map { _ in activeWorker(&pool, item(.usual)) }
        _ = pool.submitted(item(.background))
        _ = pool.submitted(item(.usual))
        let third = pool.workerStarted()
        let refused = pool.workerRequestedItem(third)
        #expect(refused == nil)
        pool.workerDone(workers[0])
        let first = pool.workerRequestedItem(workers[0])
        #expect(first?.0.urgency == .usual, "the urgent item goes first, though submitted later")
        pool.workerDone(workers[0])
        let second = pool.workerRequestedItem(workers[0])
        #expect(second?.0.urgency == .background)
    }

    @Test func timersDoNotWaitEvenForMostUrgentItems() {
        var pool = pool()
        for _ in 0..<2 { _ = activeWorker(&pool, item(.interactive)) }
        #expect(pool.submitted(item(.timer)).wakesMonitor, "a thread is created for the timer")
    }

    @Test func batchesAreWatchedAtOnceWhileWorkerSleeps() {
        var pool = pool()
        _ = activeWorker(&pool, item(.usual))
        _ = pool.monitorCounted(asleep: 1, cores: 2)
        #expect(pool.monitorBeginsToWatch() == .lazily)
        #expect(pool.batchStarted().wakesMonitor)
    }

    @Test func refusedThreadIsOrderedAgain() {
        var pool = pool()
        let worker = activeWorker(&pool, item(.usual))
        _ = pool.workerWillBlock(worker)
        #expect(pool.submitted(item(.usual)).wakesMonitor)
        #expect(pool.monitorTakesThreadRequests() == 1)
        let refused = pool.threadRefused()
        #expect(refused.remaining == 1)
        #expect(!refused.1.wakesMonitor, "not at once: the monitor thread would do nothing else")
        #expect(pool.monitorBeginsToWatch() == .closely)
        #expect(pool.monitorCounted(asleep: 0, cores: 2).wakesMonitor)
        #expect(pool.monitorTakesThreadRequests() == 1)
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
        pool.workerParks(worker)
        #expect(pool.submitted(item).wakes == nil, "the thread that is being created takes it")
        #expect(pool.monitorTakesThreadRequests() == 1)
        #expect(pool.threadRefused().1.wakes == worker)
    }

    @Test func unblockedWorkerCountsAsBefore() {
        var pool = pool()
        let workers = (0..<2).map { _ in activeWorker(&pool, item(.background)) }
        _ = pool.workerWillBlock(workers[0])
        _ = pool.workerDidUnblock(workers[0])
        _ = pool.submitted(item(.interactive))
        let third = pool.workerStarted()
        #expect(pool.workerRequestedItem(third) != nil)
        _ = pool.submitted(item(.background))
        pool.workerDone(third)
        #expect(pool.workerRequestedItem(third) == nil)
    }

    // MARK: Ageing

    /// The urgencies of the items that a single processor runs, one after the other, while items of
    /// each of `urgencies` always wait.
    private func served(_ urgencies: [Urgency], turns: Int) -> [Urgency] {
        var pool = pool(cores: 1)
        for urgency in urgencies { _ = pool.submitted(item(urgency)) }
        let worker = pool.workerStarted()
        pool.workerArrives()
        return (0..<turns).compactMap { _ in
            guard let (taken, _) = pool.workerRequestedItem(worker) else { return nil }
            pool.workerDone(worker)
            _ = pool.submitted(taken)
            return taken.urgency
        }
    }

    @Test(arguments: [
        [Urgency.interactive, .usual], [.usual, .background],
        [.interactive, .usual, .utility, .background],
    ])
    func lessUrgentItemsRunAfterBeingPassedOver(urgencies: [Urgency]) {
        let turns = served(urgencies, turns: 1_000)
        let patience = PoolState.patience
        #expect(turns.count == 1_000)
        #expect(turns[..<patience].allSatisfy { $0 == urgencies[0] })
        for urgency in urgencies.dropFirst() {
            let gaps = zip(
                turns.indices.filter { turns[$0] == urgency },
                turns.indices.filter { turns[$0] == urgency }.dropFirst()
            ).map { $1 - $0 }
            // The item runs right after it was passed over that often, or a few turns later if
            // items of other urgencies were due as well.
            #expect(!gaps.isEmpty && gaps.allSatisfy { $0 > patience })
            #expect(gaps.allSatisfy { $0 <= patience + urgencies.count })
        }
        // The most urgent items get most of the turns.
        #expect(turns.count { $0 == urgencies[0] } > 800)
    }

    /// A running item gets its share of processor time from the system. So the number of running
    /// items that compute for long must not grow.
    @Test func urgencyWithRunningItemDoesNotAge() {
        var pool = pool(cores: 1)
        for _ in 0..<3 { _ = pool.submitted(item(.background)) }
        var workers = [pool.workerStarted()]
        var computing: [WorkerID] = []
        func take() -> Urgency? {
            _ = pool.submitted(item(.interactive))
            guard let (taken, _) = pool.workerRequestedItem(workers[0]) else { return nil }
            if taken.urgency == .interactive {
                pool.workerDone(workers[0])
            } else {
                // The item runs for long; another worker takes over.
                computing.append(workers.removeFirst())
                workers.append(pool.workerStarted())
            }
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
        #expect(pool.workerRequestedItem(worker)?.0.urgency == .interactive)
    }
}
