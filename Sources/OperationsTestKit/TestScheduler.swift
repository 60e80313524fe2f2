public import Operations
import OperationsRuntime

/// Runs operation queues on one thread, in a repeatable order, with a clock of its own.
///
/// ```swift
/// let scheduler = TestScheduler(seed: 1)
/// let queue = scheduler.makeQueue()
/// let feed = queue.add("feed") { try await scheduler.clock.sleep(for: .seconds(86_400)) }
/// try scheduler.run()               // returns at once, a day later
/// ```
///
/// Nothing happens before a method that runs the scheduler is called. These methods run everything
/// on the calling thread, one step at a time. At each step the scheduler chooses, as its seed or
/// schedule says, among all possible events: a queue with a free slot starts the next operation in
/// its order, an async body continues, or a timer that is due fires. Between two steps nothing is
/// under way, so two operations can interleave only at an `await`, and where one of them starts.
///
/// Operations may wait with `await` for each other, and for anything that comes from the scheduler:
/// its ``clock``, a ``TestGate``. Events from elsewhere, such as `Task.sleep`, an unstructured
/// `Task { }` or another thread, are not part of the order, and the scheduler does not wait for
/// them.
///
/// Every method may be called on any thread, but only one thread at a time may run the scheduler.
public final class TestScheduler: Sendable {
    let core: SchedulerCore

    /// Makes a scheduler that chooses at random, and makes the same choices for the same seed.
    ///
    /// - Parameters:
    ///   - seed: any number.
    ///   - stepLimit: the number of steps after which one call gives up, with
    ///     ``TestSchedulerError``.
    public convenience init(seed: UInt64, stepLimit: Int = 1_000_000) {
        self.init(Chooser(seed: seed), stepLimit: stepLimit)
    }

    /// Makes a scheduler that repeats another one, as recorded by its ``schedule``.
    ///
    /// Where the text records no choice, the scheduler takes the first option: the body that ran
    /// last continues, if it can, and otherwise the oldest one. So an empty text is the schedule
    /// with the fewest switches.
    ///
    /// A schedule that does not fit is an error of the method that runs the scheduler
    /// (``TestSchedulerError/scheduleDoesNotFit(step:last:decision:option:of:)``): an option does
    /// not exist, or a run ends before its last choice. The schedule knows in which call of these
    /// methods a choice was made, so the calls must be the same, too.
    ///
    /// - Parameters:
    ///   - schedule: the text of an ``ExplorationFailure`` or of ``schedule``, for example `"2:2"`.
    ///   - stepLimit: the number of steps after which one call gives up, with
    ///     ``TestSchedulerError``.
    /// - Precondition: the text is that of a schedule.
    public convenience init(replaying schedule: String, stepLimit: Int = 1_000_000) {
        guard let choices = ScheduleText.choices(in: schedule) else {
            misuse(
                "'\(schedule)' is no schedule: give the text that was printed, as in \"2:2 5:3\"")
        }
        self.init(Chooser(choices), stepLimit: stepLimit)
    }

    init(_ chooser: Chooser, stepLimit: Int = 1_000_000) {
        core = SchedulerCore(chooser, stepLimit: stepLimit)
    }

    /// Makes a queue that this scheduler runs.
    ///
    /// The queue supports everything that queues support, except an `underlyingQueue`. Priorities
    /// work as on other queues: slots take operations in the queue's order. With several slots, an
    /// operation that was taken can be overtaken before it begins; with the width 1, none can.
    ///
    /// - Parameters:
    ///   - name: a name for people; "queue 1" and so on if there is none.
    ///   - width: the queue's `maxConcurrentOperationCount`; by default there is a slot for each
    ///     operation.
    public func makeQueue(
        name: String? = nil, width: Int = OperationQueue.defaultMaxConcurrentOperationCount
    ) -> OperationQueue {
        core.makeQueue(name: name, width: width)
    }

    // MARK: Running

    /// Runs until nothing is left to do. Whenever nothing can happen at the present time, the time
    /// advances to the next timer.
    ///
    /// Operations on suspended queues, or on queues of width 0, and operations that wait for them,
    /// are left there.
    ///
    /// - Throws: ``TestSchedulerError`` if operations are left that can never run, or if the run
    ///   does not end.
    public func run() throws(TestSchedulerError) {
        try core.run(.forever)
        let stuck = core.stuck()
        if !stuck.isEmpty { throw .stuck(stuck) }
    }

    /// Runs until nothing can happen at the present time.
    ///
    /// - Throws: ``TestSchedulerError/stepLimitReached(stepCount:last:)``.
    public func runUntilIdle() throws(TestSchedulerError) { try core.run(.none) }

    /// Advances the time by a duration, and runs everything that can happen before, on the way and
    /// at the end. The duration is limited to a century.
    ///
    /// - Throws: ``TestSchedulerError/stepLimitReached(stepCount:last:)``.
    public func advance(by duration: Duration) throws(TestSchedulerError) {
        try core.run(.until(core.now + duration.limitedToLongestTime))
    }

    /// Makes one step, at the present time.
    ///
    /// - Returns: false if there was no step to make.
    @discardableResult
    public func runNextStep() -> Bool { core.runNextStep() }

    // MARK: Inspecting

    /// The clock of everything that the scheduler runs. It stands still unless the scheduler
    /// advances it.
    public var clock: TestClock { TestClock(core) }

    /// The steps made so far, in order.
    public var steps: [TestScheduler.Step] { core.steps }

    /// The choices made so far, as text for ``init(replaying:stepLimit:)``.
    public var schedule: String { ScheduleText.text(of: core.decisions) }
}
