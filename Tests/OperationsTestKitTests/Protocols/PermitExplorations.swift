import Operations
import OperationsTestKit
import OperationsTestSupport
import Testing

/// The protocol of permits, which `Models/permits.pml` also describes: the real queues and budgets,
/// one step of an operation at a time.
@Suite(.ownThreads, .timeLimit(.minutes(5)))
struct PermitExplorations {
    enum Event: CaseIterable { case none, cancel, suspend, depend, retry }

    /// Operation 0 needs budget A, 1 needs both, 2 needs B. Another operation disturbs them.
    @Test(arguments: Event.allCases)
    func noPermitIsLostOrGrantedTwice(event: Event) throws {
        try TestScheduler.explore(schedules: rounds(300)) { scheduler in
            let (a, b) = (ConcurrencyBudget(1, name: "a"), ConcurrencyBudget(1, name: "b"))
            let (usersOfA, usersOfB) = (Occupancy(), Occupancy())
            let runs = Tally()
            let queue = scheduler.makeQueue(width: 1)
            let (other, third) = (scheduler.makeQueue(), scheduler.makeQueue())
            queue.add("0", .cost(1, of: a), .retry(1, backoff: .constant(.seconds(1)))) {
                usersOfA.enter()
                await Task.yield()
                usersOfA.leave()
                if event == .retry, runs.increment() == 1 { throw NoConnection() }
            }
            let one = queue.add("1", .cost(1, of: a), .cost(1, of: b)) {
                usersOfA.enter()
                usersOfB.enter()
                await Task.yield()
                usersOfA.leave()
                usersOfB.leave()
            }
            let two = other.add("2", .cost(1, of: b)) {
                usersOfB.enter()
                await Task.yield()
                usersOfB.leave()
            }
            third.add("event") {
                switch event {
                case .none, .retry: break
                case .cancel: one.cancel()
                case .suspend:
                    queue.isSuspended = true
                    await Task.yield()
                    queue.isSuspended = false
                case .depend: one.addDependency(two)
                }
            }
            try scheduler.run()
            try scheduler.check(
                usersOfA.highest == 1 && usersOfB.highest == 1, "two users of a permit")
            try scheduler.check(
                a.inUse == 0 && b.inUse == 0, "\(a.inUse) and \(b.inUse) were not returned")
        }
    }

    /// An operation that waits for permits is not overtaken in its queue, which starts its
    /// operations strictly in order.
    @Test func waitingForPermitsBreaksNoStrictOrder() throws {
        try TestScheduler.explore(schedules: rounds(300)) { scheduler in
            let (a, b) = (ConcurrencyBudget(1, name: "a"), ConcurrencyBudget(1, name: "b"))
            let started = TestRecorder<Int>()
            let queue = scheduler.makeQueue(width: 1)
            queue.order = .fifo
            scheduler.makeQueue().add("holder", .cost(1, of: b)) { await Task.yield() }
            for number in 0..<4 {
                queue.add("\(number)", .cost(1, of: number % 2 == 0 ? a : b)) {
                    started.record(number)
                    await Task.yield()
                }
            }
            try scheduler.run()
            try scheduler.check(started.events == [0, 1, 2, 3], "\(started.events)")
            try scheduler.check(a.inUse == 0 && b.inUse == 0)
        }
    }
}
