import Operations

/// How much time has passed in a test scheduler.
///
/// It has a lock of its own: queues ask it with theirs held, while the scheduler asks queues with its held.
final class SchedulerTime: Sendable {
    private let passed = Locked(Duration.zero)

    var now: Duration { passed.withLock { $0 } }

    func pass(to moment: Duration) { passed.withLock { $0 = max($0, moment) } }
}
