import Synchronization

/// A counter for several threads.
package final class Tally: Sendable {
    private let count = Atomic<Int>(0)

    package init() {}

    @discardableResult
    package func increment() -> Int { count.add(1, ordering: .relaxed).newValue }
    package var value: Int { count.load(ordering: .acquiring) }
}
