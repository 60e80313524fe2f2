/// One run of a body, and its result.
struct Attempt {
    let decisions: [Decision]
    let steps: [TestScheduler.Step]
    let log: [Guide]
    let error: (any Error)?

    init(_ chooser: Chooser, _ body: (TestScheduler) throws -> Void) {
        let scheduler = TestScheduler(chooser)
        var error: (any Error)?
        do {
            try body(scheduler)
            let left = scheduler.core.unfinished.count
            if left > 0, !scheduler.core.hasBeenRun {
                error = TestSchedulerError.schedulerNotRun(operationCount: left)
            }
        } catch let thrown {
            error = thrown
        }
        self.error = error
        decisions = scheduler.core.decisions
        steps = scheduler.steps
        log = scheduler.core.log
        scheduler.core.discard()
    }

    /// The choices, up to the last one that did not take the first option.
    var choices: [Int] {
        let choices = decisions.map(\.choice)
        return Array(choices.prefix((choices.lastIndex { $0 > 0 } ?? -1) + 1))
    }

    /// How often the schedule switched from one name to another.
    var switchCount: Int { zip(steps, steps.dropFirst()).count { $0.name != $1.name } }

    /// The length of the schedule: the shorter of two schedules has the lower measure.
    var measure: [Int] { [choices.count, choices.reduce(0, +), switchCount] }

    func failed(like other: Attempt) -> Bool {
        guard let error, let otherError = other.error else { return false }
        return type(of: error) == type(of: otherError)
    }
}
