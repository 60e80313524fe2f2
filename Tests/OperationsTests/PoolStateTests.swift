import Testing

@testable import Operations

/// The pool's rules without threads.
struct PoolStateTests {
    private func pool(cores: Int = 2) -> PoolState { PoolState(cores: cores, maximumThreads: 10) }
    private let item = WorkItem.block {}

    /// Makes a worker that has taken an item.
    private func activeWorker(_ pool: inout PoolState) -> WorkerID {
        _ = pool.submitted(item)
        _ = pool.foremanTakesOrders()
        let worker = pool.workerStarted()
        pool.workerArrives()
        #expect(pool.workerAsked(worker) != nil)
        return worker
    }

    @Test func theFirstItemOrdersAThread() {
        var pool = pool()
        #expect(pool.submitted(item).wakesForeman)
        let orders = pool.foremanTakesOrders()
        #expect(orders == 1)
        let again = pool.foremanTakesOrders()
        #expect(again == 0)
    }

    @Test func aParkedWorkerIsWoken() {
        var pool = pool()
        let worker = activeWorker(&pool)
        pool.workerDone(worker)
        pool.workerParks(worker)
        let action = pool.submitted(item)
        #expect(action.wakes == worker && !action.wakesForeman)
    }

    @Test func nobodyIsWokenForWhatASearcherWillFind() {
        var pool = pool()
        let workers = [activeWorker(&pool), activeWorker(&pool)]
        for worker in workers { pool.workerDone(worker) }
        pool.workerParks(workers[0])
        let searches = pool.workerSearches()
        #expect(searches)
        let first = pool.submitted(item)
        #expect(first.wakes == nil)
        let second = pool.submitted(item)
        #expect(second.wakes == workers[0], "the searcher takes only one")
    }

    @Test func noMoreWorkIsTakenThanThereAreCores() {
        var pool = pool()
        let workers = [activeWorker(&pool), activeWorker(&pool)]
        let action = pool.submitted(item)
        #expect(action.wakesForeman, "it has to watch")
        let again = pool.submitted(item)
        #expect(!again.wakesForeman, "once is enough")
        let third = pool.workerStarted()
        let refused = pool.workerAsked(third)
        #expect(refused == nil)
        let made = pool.workerWillBlock(workers[0])
        #expect(made.wakesForeman || made.wakes != nil)
        let taken = pool.workerAsked(third)
        #expect(taken != nil)
    }

    /// An item that was about to be taken has to wait, because a worker came back: it must be watched.
    @Test func aWorkerThatComesBackLeavesNothingUnwatched() {
        var pool = pool()
        let waiting = activeWorker(&pool)
        let parked = activeWorker(&pool)
        let running = activeWorker(&pool, afterBlocking: waiting)
        pool.workerDone(parked)
        pool.workerParks(parked)
        let woken = pool.submitted(item)
        #expect(woken.wakes == parked)
        let action = pool.workerDidUnblock(waiting)
        #expect(action.wakesForeman)
        #expect(pool.active == [waiting, running])
    }

    private func activeWorker(_ pool: inout PoolState, afterBlocking blocked: WorkerID) -> WorkerID
    {
        _ = pool.workerWillBlock(blocked)
        return activeWorker(&pool)
    }

    @Test func aWorkerThatIsBeingWokenDoesNotFallAsleepAgain() {
        var pool = pool()
        let worker = activeWorker(&pool)
        pool.workerDone(worker)
        pool.workerParks(worker)
        _ = pool.submitted(item)
        let unparks = pool.workerUnparks(worker)
        #expect(!unparks, "somebody is about to post")
    }

    @Test func aRefusedThreadIsNotCounted() {
        var pool = pool()
        _ = pool.submitted(item)
        _ = pool.foremanTakesOrders()
        let remaining = pool.threadRefused()
        #expect(remaining == 0)
        let action = pool.submitted(item)
        #expect(action.wakesForeman, "one more try")
    }

    @Test func batchesAreWatchedUntilTheForemanSeesNone() {
        var pool = pool()
        _ = activeWorker(&pool)
        let action = pool.batchStarted()
        #expect(action.wakesForeman)
        let watches = pool.foremanBeginsToWatch()
        #expect(watches == .closely)
        pool.foremanSawBatches(false)
        let ends = pool.foremanBeginsToWatch()
        #expect(ends == nil)
    }
}
