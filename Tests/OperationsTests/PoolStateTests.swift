import TestSupport
import Testing

@testable import Operations

/// The pool's rules without threads.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct PoolStateTests {
    private func pool(cores: Int = 2) -> PoolState { PoolState(cores: cores, maximumThreads: 10) }
    private let item = WorkItem.block {}

    /// Makes a worker that has taken an item.
    private func activeWorker(_ pool: inout PoolState, _ item: WorkItem = .block {}) -> WorkerID {
        _ = pool.submitted(item)
        _ = pool.monitorTakesOrders()
        let worker = pool.workerStarted()
        pool.workerArrives()
        #expect(pool.workerAsked(worker) != nil)
        return worker
    }

    @Test func theFirstItemOrdersAThread() {
        var pool = pool()
        #expect(pool.submitted(item).wakesMonitor)
        let orders = pool.monitorTakesOrders()
        #expect(orders == 1)
        let again = pool.monitorTakesOrders()
        #expect(again == 0)
    }

    @Test func aParkedWorkerIsWoken() {
        var pool = pool()
        let worker = activeWorker(&pool)
        pool.workerDone(worker)
        pool.workerParks(worker)
        let action = pool.submitted(item)
        #expect(action.wakes == worker && !action.wakesMonitor)
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
        #expect(action.wakesMonitor, "it has to watch")
        let again = pool.submitted(item)
        #expect(!again.wakesMonitor, "once is enough")
        let third = pool.workerStarted()
        let refused = pool.workerAsked(third)
        #expect(refused == nil)
        let made = pool.workerWillBlock(workers[0])
        #expect(made.wakesMonitor || made.wakes != nil)
        let taken = pool.workerAsked(third)
        #expect(taken != nil)
    }

    /// An item that was about to be taken has to wait, because a worker came back: it must be
    /// watched.
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
        #expect(action.wakesMonitor)
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
        _ = pool.monitorTakesOrders()
        let remaining = pool.threadRefused().remaining
        #expect(remaining == 0)
        let action = pool.submitted(item)
        #expect(action.wakesMonitor, "one more try")
    }

    @Test func batchesAreWatchedUntilTheMonitorThreadSeesNone() {
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

    @Test func whatIsMoreUrgentDoesNotWaitForWhatIsLess() {
        var pool = pool()
        for _ in 0..<2 { _ = activeWorker(&pool, item(.background)) }
        let action = pool.submitted(item(.interactive))
        #expect(action.wakesMonitor, "a thread is made for it")
        let third = pool.workerStarted()
        pool.workerArrives()
        let taken = pool.workerAsked(third)
        #expect(taken?.0.urgency == .interactive)
        #expect(pool.isOverLimit, "the others take nothing more")
    }

    @Test func whatIsLessUrgentWaitsForWhatIsMore() {
        var pool = pool()
        let workers = (0..<2).map { _ in activeWorker(&pool, item(.usual)) }
        _ = pool.submitted(item(.background))
        _ = pool.submitted(item(.usual))
        let third = pool.workerStarted()
        let refused = pool.workerAsked(third)
        #expect(refused == nil)
        pool.workerDone(workers[0])
        let first = pool.workerAsked(workers[0])
        #expect(first?.0.urgency == .usual, "though it came later")
        pool.workerDone(workers[0])
        let second = pool.workerAsked(workers[0])
        #expect(second?.0.urgency == .background)
    }

    @Test func timersDoNotEvenWaitForWhatIsMostUrgent() {
        var pool = pool()
        for _ in 0..<2 { _ = activeWorker(&pool, item(.interactive)) }
        #expect(pool.submitted(item(.timer)).wakesMonitor, "a thread is made for it")
    }

    @Test func whereSomebodySleepsBatchesAreWatchedAtOnce() {
        var pool = pool()
        _ = activeWorker(&pool, item(.usual))
        _ = pool.monitorCounted(asleep: 1, cores: 2)
        #expect(pool.monitorBeginsToWatch() == .lazily)
        #expect(pool.batchStarted().wakesMonitor)
    }

    @Test func afterAThreadWasRefusedItIsAskedForAgain() {
        var pool = pool()
        let worker = activeWorker(&pool, item(.usual))
        _ = pool.workerWillBlock(worker)
        #expect(pool.submitted(item(.usual)).wakesMonitor)
        #expect(pool.monitorTakesOrders() == 1)
        let refused = pool.threadRefused()
        #expect(refused.remaining == 1)
        #expect(!refused.1.wakesMonitor, "not at once: he would do nothing else")
        #expect(pool.monitorBeginsToWatch() == .closely)
        #expect(pool.monitorCounted(asleep: 0, cores: 2).wakesMonitor)
        #expect(pool.monitorTakesOrders() == 1)
    }

    /// A thread is asked for; before it is refused, the only worker has done that work, and sleeps.
    @Test func whatWasLeftToAThreadThatIsRefusedIsForTheParkedOnes() {
        var pool = pool()
        let worker = activeWorker(&pool)
        #expect(pool.submitted(item).wakesMonitor)
        pool.workerDone(worker)
        #expect(pool.workerAsked(worker) != nil)
        pool.workerDone(worker)
        #expect(pool.workerAsked(worker) == nil)
        pool.workerParks(worker)
        #expect(pool.submitted(item).wakes == nil, "the thread that is being made takes it")
        #expect(pool.monitorTakesOrders() == 1)
        #expect(pool.threadRefused().1.wakes == worker)
    }

    @Test func aWorkerThatComesBackFromAWaitCountsAsBefore() {
        var pool = pool()
        let workers = (0..<2).map { _ in activeWorker(&pool, item(.background)) }
        _ = pool.workerWillBlock(workers[0])
        _ = pool.workerDidUnblock(workers[0])
        _ = pool.submitted(item(.interactive))
        let third = pool.workerStarted()
        #expect(pool.workerAsked(third) != nil)
        _ = pool.submitted(item(.background))
        pool.workerDone(third)
        #expect(pool.workerAsked(third) == nil)
    }

    // MARK: Ageing

    /// What one processor gets to do, one item after the other, while some of each of these
    /// urgencies always wait.
    private func served(_ urgencies: [Urgency], turns: Int) -> [Urgency] {
        var pool = pool(cores: 1)
        for urgency in urgencies { _ = pool.submitted(item(urgency)) }
        let worker = pool.workerStarted()
        pool.workerArrives()
        return (0..<turns).compactMap { _ in
            guard let (taken, _) = pool.workerAsked(worker) else { return nil }
            pool.workerDone(worker)
            _ = pool.submitted(taken)
            return taken.urgency
        }
    }

    @Test(arguments: [
        [Urgency.interactive, .usual], [.usual, .background],
        [.interactive, .usual, .utility, .background],
    ])
    func whatIsLessUrgentIsServedAfterItWasPassedOverOften(urgencies: [Urgency]) {
        let turns = served(urgencies, turns: 1_000)
        let patience = PoolState.patience
        #expect(turns.count == 1_000)
        #expect(turns[..<patience].allSatisfy { $0 == urgencies[0] })
        for urgency in urgencies.dropFirst() {
            let gaps = zip(
                turns.indices.filter { turns[$0] == urgency },
                turns.indices.filter { turns[$0] == urgency }.dropFirst()
            ).map { $1 - $0 }
            // One turn after it was passed over so often, or a few later, if others were due as
            // well.
            #expect(!gaps.isEmpty && gaps.allSatisfy { $0 > patience })
            #expect(gaps.allSatisfy { $0 <= patience + urgencies.count })
        }
        // Most of the time is for what is most urgent.
        #expect(turns.count { $0 == urgencies[0] } > 800)
    }

    /// What is at work has its share from the system. Those that compute for long do not become
    /// more and more.
    @Test func anUrgencyOfWhichSomethingIsAtWorkDoesNotAge() {
        var pool = pool(cores: 1)
        for _ in 0..<3 { _ = pool.submitted(item(.background)) }
        var workers = [pool.workerStarted()]
        var computing: [WorkerID] = []
        func take() -> Urgency? {
            _ = pool.submitted(item(.interactive))
            guard let (taken, _) = pool.workerAsked(workers[0]) else { return nil }
            if taken.urgency == .interactive {
                pool.workerDone(workers[0])
            } else {
                // It goes on for long; another worker takes its place.
                computing.append(workers.removeFirst())
                workers.append(pool.workerStarted())
            }
            return taken.urgency
        }
        var turns = (0..<200).map { _ in take() }
        #expect(turns.count { $0 == .background } == 1 && turns.count { $0 == .interactive } == 199)
        pool.workerDone(computing[0])
        turns = (0..<200).map { _ in take() }
        #expect(turns[0] == .background, "it has been passed over often enough meanwhile")
        #expect(turns.count { $0 == .background } == 1)
        // That one sleeps.
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
            #expect(pool.workerAsked(worker)?.0.urgency == .interactive)
        }
        pool.workerDone(worker)
        _ = pool.submitted(item(.background))
        _ = pool.submitted(item(.interactive))
        #expect(pool.workerAsked(worker)?.0.urgency == .interactive)
    }
}
