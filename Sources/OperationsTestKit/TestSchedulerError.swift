import Operations

/// The reason why a test scheduler cannot finish.
public enum TestSchedulerError: Error, Sendable, CustomStringConvertible {
    /// An operation that can never finish by itself, and why.
    public struct StuckOperation: Sendable {
        /// The operation's name, as in messages.
        public let name: String
        /// The operation's explanation, from `explain()`.
        public let explanation: String
    }

    /// Nothing is left to do, but these operations have not finished: they wait for each other, or
    /// for an event that does not come from the scheduler. At most ten operations.
    case stuck([StuckOperation])
    /// The run was not done after this many steps; these were the last.
    case stepLimitReached(stepCount: Int, last: [TestScheduler.Step])
    /// The schedule that a scheduler repeats (``TestScheduler/init(replaying:stepLimit:)``) does
    /// not fit what it runs: the program has changed since the schedule was recorded, or it is that
    /// of another test. The scheduler makes no further step.
    ///
    /// - Parameters:
    ///   - step: the number of the step that the scheduler would have made next, from 1.
    ///   - last: the step before; nil if there is none.
    ///   - decision: the number of the decision in the schedule, from 1.
    ///   - option: the option that the schedule takes there, from 1.
    ///   - of: the number of options there; 0 if the run ended before the decision.
    case scheduleDoesNotFit(
        step: Int, last: TestScheduler.Step?, decision: Int, option: Int, of: Int)
    /// The body of an exploration returned without running its scheduler, with this many operations
    /// left.
    case schedulerNotRun(operationCount: Int)

    /// A message that says what happened and what to do.
    public var description: String {
        switch self {
        case .stuck(let operations):
            let isOne = operations.count == 1
            let number = operations.count == 10 ? "10 or more" : "\(operations.count)"
            var lines = [
                "Nothing is left to do, but \(number) operation\(isOne ? " has" : "s have") not finished:"
            ]
            for operation in operations {
                // The explanation names an operation without a name by its address.
                let name = operation.name.hasPrefix("'") ? "" : "\(operation.name): "
                lines += (name + operation.explanation).split(separator: "\n").map { "  \($0)" }
            }
            lines.append(
                "A body that executes waits for something that no other operation or timer brings. Task.sleep, "
                    + "other clocks and tasks outside are not waited for: use the scheduler's clock, or "
                    + "runUntilIdle() if the test itself goes on from here.")
            return lines.joined(separator: "\n")
        case .stepLimitReached(let count, let last):
            return "Not done after \(count) steps, the last of which were: "
                + "\(last.map(\.description).joined(separator: ", ")). Use advance(by:) for work that is "
                + "repeated for ever, or a higher stepLimit."
        case .scheduleDoesNotFit(let step, let last, let decision, let option, let count):
            let place =
                last.map { "after step \(step - 1), which was \($0)" } ?? "at the first step"
            let reason =
                count == 0
                ? "decision \(decision) of the schedule was never reached: nothing was left to do \(place)"
                : "decision \(decision) of the schedule takes option \(option) of \(count), \(place)"
            return
                "The schedule does not fit: \(reason). It was recorded with another program or test: "
                + "explore again, or remove the schedule."
        case .schedulerNotRun(let count):
            return "The body has returned without running its scheduler, with \(count) "
                + "operation\(count == 1 ? "" : "s") left: call scheduler.run()."
        }
    }
}

extension SchedulerCore {
    private static let stuckLimit = 10

    /// Returns the operations that can continue only if code outside of this scheduler acts. An
    /// operation that the test holds back on purpose is left out.
    func stuck() -> [TestSchedulerError.StuckOperation] {
        var stuck: [TestSchedulerError.StuckOperation] = []
        for (operation, queue) in unfinished where stuck.count < Self.stuckLimit {
            if queue.isOnHold, !operation.isAtWork { continue }
            let explanation = operation.explain()
            let waitsForSuspended = explanation.causes.contains { cause in
                switch cause.reason {
                case .queueSuspended, .queueWidthIsZero: true
                default: false
                }
            }
            if waitsForSuspended { continue }
            stuck.append(
                TestSchedulerError.StuckOperation(
                    name: name(of: operation, in: queue), explanation: explanation.description))
        }
        return stuck
    }
}
