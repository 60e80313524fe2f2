/// A schedule with which a body fails.
public struct ExplorationFailure: Error, Sendable, CustomStringConvertible {
    /// The error that the body threw.
    public let error: any Error
    /// The steps of the schedule, in order.
    public let steps: [TestScheduler.Step]
    /// The text that repeats the schedule with ``TestScheduler/init(replaying:stepLimit:)``.
    public let schedule: String
    /// The number of the schedule that failed first, from 1. ``schedule`` is the shortest one found
    /// from there.
    public let number: Int
    /// How many schedules were to be run.
    public let scheduleCount: Int
    /// The seed with which ``TestScheduler/explore(schedules:seed:_:)`` finds the failure again.
    public let seed: UInt64

    /// Whether the same schedule has failed a second time.
    ///
    /// If not, the body does not do the same each time: it uses state that another run has left, or
    /// that does not come from the scheduler.
    public let isRepeatable: Bool

    init(_ attempt: Attempt, isRepeatable: Bool, schedule number: Int, of count: Int, seed: UInt64)
    {
        error = attempt.error ?? CancellationError()
        steps = attempt.steps
        schedule = ScheduleText.text(of: attempt.decisions)
        self.number = number
        scheduleCount = count
        self.seed = seed
        self.isRepeatable = isRepeatable
    }

    private static let shownSteps = 60

    /// The error, the steps, and how to repeat the schedule.
    public var description: String {
        var lines = [
            "Schedule \(number) of \(scheduleCount) (seed \(seed)) fails: \(error)",
            isRepeatable
                ? "The shortest that fails like it:"
                : "It did not fail when it was repeated, so the body does not do the same each time. "
                    + "These were the steps:",
        ]
        for (index, step) in steps.prefix(Self.shownSteps).enumerated() {
            lines.append("  \(index + 1). \(step)")
        }
        if steps.count > Self.shownSteps {
            lines.append("  … and \(steps.count - Self.shownSteps) more steps")
        }
        if isRepeatable { lines.append("To repeat it: TestScheduler(replaying: \"\(schedule)\")") }
        return lines.joined(separator: "\n")
    }
}
