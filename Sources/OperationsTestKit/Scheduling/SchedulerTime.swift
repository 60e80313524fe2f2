import OperationsRuntime

/// How much time has passed in a test scheduler.
///
/// The time has a lock of its own: queues read it while they hold their lock, and the scheduler
/// reads queues while it holds its own.
final class SchedulerTime: Sendable {
    private let passed = Locked(Duration.zero)

    var now: Duration { passed.withLock { $0 } }

    func pass(to moment: Duration) { passed.withLock { $0 = max($0, moment) } }
}
