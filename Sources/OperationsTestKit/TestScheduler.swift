public import Operations

/// Runs operation queues on one thread, in an order that can be repeated, with a clock of its own.
///
/// ```swift
/// let scheduler = TestScheduler(seed: 1)
/// let queue = scheduler.makeQueue()
/// let feed = queue.add("feed") { try await scheduler.clock.sleep(for: .seconds(86_400)) }
/// try scheduler.run()               // returns at once, a day later
/// ```
///
/// Nothing happens before one of the methods that run the scheduler is called; they run everything on the
/// calling thread, one step at a time. At each step the scheduler chooses, as its seed or schedule says,
/// among all that could happen next: any queue with a free slot starts the operation that comes next in its
/// order, any async body goes on, any timer that is due fires. Between two steps nothing is under way, so
/// what two operations do can only interleave at an `await`, and where one starts.
///
/// Operations may wait with `await` for each other, and for anything that comes from the scheduler: its
/// ``clock``, a ``TestGate``. What comes from elsewhere, such as `Task.sleep`, an unstructured `Task { }`
/// or another thread, is not part of the order, and the scheduler does not wait for it.
///
/// Every method may be called on any thread, but only one thread at a time may run the scheduler.
public final class TestScheduler: Sendable {
    let core: SchedulerCore

    /// Makes a scheduler that chooses at random, the same each time for the same seed.
    ///
    /// - Parameters:
    ///   - seed: any number; with the same one the same is chosen.
    ///   - stepLimit: after how many steps one call gives up, with ``TestSchedulerError``.
    public convenience init(seed: UInt64, stepLimit: Int = 1_000_000) {
        self.init(Chooser(seed: seed), stepLimit: stepLimit)
    }

    /// Makes a scheduler that repeats what another one did, as noted by its ``schedule``.
    ///
    /// Where nothing is noted the first is chosen of what could happen: the body that was at work last
    /// goes on, if it can, and else the oldest; so an empty text is the schedule with the fewest switches.
    ///
    /// - Parameters:
    ///   - schedule: as an ``ExplorationFailure`` or ``schedule`` says it, for example `"2:2"`.
    ///   - stepLimit: after how many steps one call gives up, with ``TestSchedulerError``.
    /// - Precondition: the text is that of a schedule.
    public convenience init(replaying schedule: String, stepLimit: Int = 1_000_000) {
        guard let choices = ScheduleText.choices(in: schedule) else {
            misuse(
                "'\(schedule)' is no schedule: give the text that was printed, as in \"2:2 5:3\"")
        }
        self.init(Chooser(prescribed: choices), stepLimit: stepLimit)
    }

    init(_ chooser: Chooser, stepLimit: Int = 1_000_000) {
        core = SchedulerCore(chooser, stepLimit: stepLimit)
    }

    /// Makes a queue that this scheduler runs.
    ///
    /// It can do all that queues can but have an `underlyingQueue`. Its priorities hold as on
    /// other queues: slots take operations in the queue's order. With several slots one that was taken can
    /// be overtaken before it begins; with the width 1 none can.
    ///
    /// - Parameters:
    ///   - width: its `maxConcurrentOperationCount`; without one there is a slot for each
    ///     operation.
    ///   - name: for people; "queue 1" and so on if there is none.
    public func makeQueue(
        width: Int = OperationQueue.defaultMaxConcurrentOperationCount, name: String? = nil
    ) -> OperationQueue {
        core.makeQueue(width: width, name: name)
    }

    // MARK: Running

    /// Runs until nothing is left to do; whenever nothing can happen at the present time, the time goes on to
    /// the next timer.
    ///
    /// Operations on suspended queues, or on queues of width 0, and what waits for them, are left there.
    ///
    /// - Throws: ``TestSchedulerError`` if operations are left that nothing will bring on, or if it does not
    ///   end.
    public func run() throws(TestSchedulerError) {
        try core.run(.forever)
        let stuck = core.stuck()
        if !stuck.isEmpty { throw .stuck(stuck) }
    }

    /// Runs until nothing can happen at the present time.
    ///
    /// - Throws: ``TestSchedulerError/endless(stepCount:last:)``.
    public func runUntilIdle() throws(TestSchedulerError) { try core.run(.none) }

    /// Lets so much time go by, and runs all that can happen before, on the way and at the end.
    ///
    /// - Throws: ``TestSchedulerError/endless(stepCount:last:)``.
    public func advance(by duration: Duration) throws(TestSchedulerError) {
        try core.run(.until(core.now + duration))
    }

    /// Makes one step, at the present time.
    ///
    /// - Returns: false if there was none to make.
    @discardableResult
    public func runOne() -> Bool { core.runOne() }

    // MARK: Looking

    /// The time in which all of this happens. It stands still unless the scheduler lets it go on.
    public var clock: TestClock { TestClock(core) }

    /// What has happened, in order.
    public var steps: [Step] { core.steps }

    /// What was chosen up to now, as ``init(replaying:stepLimit:)`` understands it.
    public var schedule: String { ScheduleText.text(of: core.decisions.lazy.map(\.choice)) }
}
