import Operations

/// Why a test scheduler cannot come to an end.
public enum TestSchedulerError: Error, Sendable, CustomStringConvertible {
    /// An operation that nothing will bring on, and why that is.
    public struct StuckOperation: Sendable {
        /// What messages call it.
        public let name: String
        /// What its `explain()` says about it.
        public let explanation: String
    }

    /// Nothing is left to do, but these operations have not finished: they wait for each other, or for something
    /// that does not come from the scheduler. At most ten.
    case stuck([StuckOperation])
    /// It was not done after so many steps; these were the last.
    case endless(stepCount: Int, last: [Step])
    /// The body of an exploration has returned without having run its scheduler, with so many operations left.
    case neverRun(operationCount: Int)

    /// Sentences that say what happened and what to do.
    public var description: String {
        switch self {
        case .stuck(let operations):
            let isOne = operations.count == 1
            let number = operations.count == 10 ? "10 or more" : "\(operations.count)"
            var lines = [
                "Nothing is left to do, but \(number) operation\(isOne ? " has" : "s have") not finished:"
            ]
            for operation in operations {
                // One without a name is called by its address there.
                let name = operation.name.hasPrefix("'") ? "" : "\(operation.name): "
                lines += (name + operation.explanation).split(separator: "\n").map { "  \($0)" }
            }
            lines.append(
                "A body that executes waits for something that no other operation or timer brings. Task.sleep, "
                    + "other clocks and tasks outside are not waited for: use the scheduler's clock, or "
                    + "runUntilIdle() if the test itself goes on from here.")
            return lines.joined(separator: "\n")
        case .endless(let count, let last):
            return "Not done after \(count) steps, the last of which were: "
                + "\(last.map(\.description).joined(separator: ", ")). Use advance(by:) for work that is "
                + "repeated for ever, or a higher stepLimit."
        case .neverRun(let count):
            return "The body has returned without running its scheduler, with \(count) "
                + "operation\(count == 1 ? "" : "s") left: call scheduler.run()."
        }
    }
}

extension SchedulerCore {
    private static let stuckLimit = 10

    /// Operations that can go on only if somebody outside of this scheduler sees to it, but for those that are
    /// held back on purpose.
    func stuck() -> [TestSchedulerError.StuckOperation] {
        var stuck: [TestSchedulerError.StuckOperation] = []
        for (operation, queue) in unfinished where stuck.count < Self.stuckLimit {
            if queue.isOnHold, !operation.isAtWork { continue }
            let explanation = operation.explain()
            let waitsForSuspended = explanation.causes.contains { cause in
                switch cause.reason {
                case .queueSuspended, .queueWithoutWidth: true
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
