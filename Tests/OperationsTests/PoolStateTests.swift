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
        #expect(pool.workerAsked(worker, nil) != nil)
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

    @Test func aParkedWorkerIsSignalled() {
        var pool = pool()
        let worker = activeWorker(&pool)
        pool.workerDone(worker)
        pool.workerParked()
        let action = pool.submitted(item)
        #expect(action.signalsWorker && !action.wakesForeman)
    }

    @Test func noMoreWorkIsTakenThanThereAreCores() {
        var pool = pool()
        let workers = [activeWorker(&pool), activeWorker(&pool)]
        let action = pool.submitted(item)
        #expect(action.wakesForeman, "it has to watch")
        let again = pool.submitted(item)
        #expect(!again.wakesForeman, "once is enough")
        let third = pool.workerStarted()
        let refused = pool.workerAsked(third, nil)
        #expect(refused == nil)
        let made = pool.workerWillBlock(workers[0])
        #expect(made.wakesForeman || made.signalsWorker)
        let taken = pool.workerAsked(third, nil)
        #expect(taken != nil)
    }

    /// An item that was about to be taken has to wait, because a worker came back: it must be watched.
    @Test func aWorkerThatComesBackLeavesNothingUnwatched() {
        var pool = pool()
        let waiting = activeWorker(&pool)
        _ = activeWorker(&pool)
        _ = pool.workerWillBlock(waiting)
        pool.workerParked()
        let signalled = pool.submitted(item)
        #expect(signalled.signalsWorker)
        let action = pool.workerDidUnblock(waiting, nil)
        #expect(action.wakesForeman)
    }

    @Test func aRefusedThreadIsNotCounted() {
        var pool = pool()
        _ = pool.submitted(item)
        _ = pool.foremanTakesOrders()
        let remaining = pool.threadRefused()
        #expect(remaining == 0)
    }
}
