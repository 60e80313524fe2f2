/// A schedule with which a body fails.
public struct ExplorationFailure: Error, Sendable, CustomStringConvertible {
    /// What the body threw.
    public let error: any Error
    /// What happened, in order.
    public let steps: [Step]
    /// What to give to ``TestScheduler/init(replaying:stepLimit:)`` to see it again.
    public let schedule: String
    /// The how manieth schedule failed first, from 1; this one is the shortest that was found from there.
    public let number: Int
    /// How many were to be run.
    public let scheduleCount: Int
    /// What to give to ``explore(schedules:seed:_:)`` to find it again.
    public let seed: UInt64

    init(_ attempt: Attempt, schedule number: Int, of count: Int, seed: UInt64) {
        error = attempt.error ?? CancellationError()
        steps = attempt.steps
        schedule = ScheduleText.text(of: attempt.choices)
        self.number = number
        scheduleCount = count
        self.seed = seed
    }

    private static let shownSteps = 60

    /// The error, the steps, and how to repeat it.
    public var description: String {
        var lines = [
            "Schedule \(number) of \(scheduleCount) (seed \(seed)) fails: \(error)",
            "The shortest that fails like it:",
        ]
        for (index, step) in steps.prefix(Self.shownSteps).enumerated() {
            lines.append("  \(index + 1). \(step)")
        }
        if steps.count > Self.shownSteps {
            lines.append("  … and \(steps.count - Self.shownSteps) more steps")
        }
        lines.append("To repeat it: TestScheduler(replaying: \"\(schedule)\")")
        return lines.joined(separator: "\n")
    }
}
