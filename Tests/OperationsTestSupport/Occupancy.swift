import OperationsRuntime

/// Counts the threads or tasks that are inside at the same time.
package final class Occupancy: Sendable {
    private let counts = Locked((now: 0, highest: 0))

    package init() {}

    package func enter() {
        counts.withLock {
            $0.now += 1
            $0.highest = max($0.highest, $0.now)
        }
    }
    package func leave() { counts.withLock { $0.now -= 1 } }
    package var now: Int { counts.withLock { $0.now } }
    package var highest: Int { counts.withLock { $0.highest } }
}
