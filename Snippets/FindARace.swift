// Looks for an order of events in which two operations withdraw more than the account holds, and
// prints the shortest one.
import OperationsTestKit
import Synchronization

final class Account: Sendable {
    private let amount = Mutex(100)

    // Each of these is safe by itself. To look first and to withdraw later is not.
    var balance: Int { amount.withLock { $0 } }
    func withdraw(_ sum: Int) { amount.withLock { $0 -= sum } }
}

do {
    try TestScheduler.explore(schedules: 1_000, seed: 17) { scheduler in
        let account = Account()
        let queue = scheduler.makeQueue()
        for person in 1...2 {
            queue.add("withdraw \(person)") {
                guard account.balance >= 80 else { return }
                await Task.yield()
                account.withdraw(80)
            }
        }
        try scheduler.run()
        try scheduler.check(account.balance >= 0, "the balance is \(account.balance)")
    }
} catch {
    print(error)
}
// snippet.hide

// Prints:
// Schedule 3 of 1000 (seed 17) fails: FindARace/FindARace.swift:26: check failed: the balance is -60
// The shortest that fails like it:
//   1. start 'withdraw 1'
//   2. start 'withdraw 2'
//   3. resume 'withdraw 2'
//   4. resume 'withdraw 1'
// To repeat it: TestScheduler(replaying: "2:2")
