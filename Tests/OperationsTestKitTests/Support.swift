import Operations
import OperationsTestKit
import Synchronization
import Testing

/// Each access is thread-safe by itself, but a sequence of accesses is not.
final class Account: Sendable {
    private let amount: Mutex<Int>

    init(balance: Int) { amount = Mutex(balance) }

    var balance: Int { amount.withLock { $0 } }
    func withdraw(_ sum: Int) { amount.withLock { $0 -= sum } }
}

extension TestScheduler {
    var names: [String] { steps.map(\.description) }
}

extension ExplorationFailure {
    var names: [String] { steps.map(\.description) }
}

extension [String] {
    func isBefore(_ a: String, _ b: String) -> Bool {
        guard let a = firstIndex(of: a), let b = firstIndex(of: b) else { return false }
        return a < b
    }
}
