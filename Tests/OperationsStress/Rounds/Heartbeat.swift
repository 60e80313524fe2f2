import Synchronization

/// Counts the events of all rounds. The watchdog sees by it whether a round goes on.
enum Heartbeat {
    private static let count = Atomic<Int>(0)

    static func beat() { count.add(1, ordering: .relaxed) }

    static var now: Int { count.load(ordering: .relaxed) }
}
