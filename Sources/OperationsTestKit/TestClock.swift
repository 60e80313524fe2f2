import Operations

/// The time of a test scheduler.
///
/// It stands still while anything can happen at the present time, and then goes on to the next timer; so a sleep
/// of a day takes no time, and what is due earlier happens earlier.
public struct TestClock: Clock, Sendable {
    /// A moment, counted from the making of the scheduler.
    public struct Instant: InstantProtocol {
        /// How long after the making of the scheduler.
        public let offset: Duration

        /// The moment so long after this one.
        public func advanced(by duration: Duration) -> Instant {
            Instant(offset: offset + duration)
        }

        /// How long it is to another one.
        public func duration(to other: Instant) -> Duration { other.offset - offset }

        /// Orders moments.
        public static func < (a: Instant, b: Instant) -> Bool { a.offset < b.offset }
    }

    private let core: SchedulerCore

    init(_ core: SchedulerCore) { self.core = core }

    /// The present moment of the scheduler.
    public var now: Instant { Instant(offset: core.now) }

    /// A nanosecond, though moments are exact.
    public var minimumResolution: Duration { .nanoseconds(1) }

    /// Suspends until that moment has come and the scheduler has chosen to let the task go on; other things may
    /// happen at the same moment before.
    ///
    /// - Throws: `CancellationError` if the task is cancelled before.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        try await core.sleep(until: deadline.offset)
    }
}
