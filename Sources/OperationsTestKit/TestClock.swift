import OperationsRuntime

/// The clock of a test scheduler.
///
/// The clock stands still while anything can happen at the present time, and then advances to the
/// next timer. So a sleep of a day takes no real time, and earlier timers fire earlier.
public struct TestClock: Clock, Sendable {
    /// A moment, counted from the creation of the scheduler.
    public struct Instant: InstantProtocol {
        /// The time from the creation of the scheduler to this moment.
        public let offset: Duration

        /// Returns the moment that is `duration` after this one. The duration is limited to a
        /// century.
        public func advanced(by duration: Duration) -> Instant {
            Instant(offset: offset + duration.limitedToLongestTime)
        }

        /// Returns the time from this moment to another one.
        public func duration(to other: Instant) -> Duration { other.offset - offset }

        /// Orders moments.
        public static func < (a: Instant, b: Instant) -> Bool { a.offset < b.offset }
    }

    private let core: SchedulerCore

    init(_ core: SchedulerCore) { self.core = core }

    /// The present moment of the scheduler.
    public var now: Instant { Instant(offset: core.now) }

    /// One nanosecond, although moments are exact.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Suspends the task until the deadline has come and the scheduler has chosen to resume the
    /// task. Other events of the same moment may happen before.
    ///
    /// - Throws: `CancellationError` if the task is cancelled before.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        try await core.sleep(until: deadline.offset)
    }
}
