// Finds an order of events in which two operations take more from an account than there is, and prints the
// shortest one.
import OperationsTestKit
import Synchronization

final class Account: Sendable {
    private let amount = Mutex(100)

    // Each of these is safe by itself. Looking first and taking later is not.
    var balance: Int { amount.withLock { $0 } }
    func withdraw(_ sum: Int) { amount.withLock { $0 -= sum } }
}

do {
    try explore(schedules: 1_000, seed: 17) { scheduler in
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
        try check(account.balance >= 0, "the balance is \(account.balance)")
    }
} catch {
    print(error)
}
