/// The state of a queue and the reasons that keep its operations from running; made by
/// ``OperationQueue/explain()``.
public struct OperationQueueExplanation: Sendable, CustomStringConvertible {
    /// The queue's name in messages.
    public let queue: String
    /// Whether the queue is suspended, so that it starts no further operation.
    public let isSuspended: Bool
    /// The number of operations that run.
    public let executingCount: Int
    /// The number of operations that wait for nothing but the queue.
    public let readyCount: Int
    /// The number of operations that wait for dependencies, or for their own `isReady`.
    public let waitingCount: Int
    /// The causes for up to three running operations, the first ready one and all waiting ones, and
    /// for the operations that these wait for.
    public let causes: [OperationExplanation.Cause]
    /// The number of further causes that were found and left out.
    public let omittedCount: Int

    /// A line about the queue, and one for each cause.
    public var description: String {
        var lines = [summary] + causes.map { "\($0)." }
        if omittedCount > 0 { lines.append("… and \(omittedCount) more.") }
        return lines.joined(separator: "\n")
    }

    private var summary: String {
        let count = executingCount + readyCount + waitingCount
        if count == 0 { return "\(queue) is \(isSuspended ? "suspended and " : "")empty." }
        let parts = [
            (executingCount, "executing"), (readyCount, "ready"), (waitingCount, "waiting"),
        ]
        .filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        let holds = isSuspended ? "\(queue) is suspended and holds" : "\(queue) holds"
        return "\(holds) \(count) operation\(count == 1 ? "" : "s"): "
            + "\(parts.joined(separator: ", "))."
    }
}

extension OperationQueue {
    /// Explains what the queue is doing, and what keeps its operations from running.
    ///
    /// The explanation is for people who debug a program, and for the program's logs: print it. See
    /// ``Operation/explain()``.
    ///
    /// - Complexity: O(n), and O(operations that the queue's operations wait for, and their edges;
    ///   at most 10,000).
    public final func explain() -> OperationQueueExplanation {
        let (isSuspended, operations) = eventOffering { state in
            state.materializeAll()
            return (state.isSuspended, state.operations(includingBarriers: true))
        }
        let states = operations.map(\.status)
        let phases = zip(operations, states)
        let executing = phases.filter { $0.1.isAtWork }.map(\.0)
        let ready = phases.filter { $0.1.phase == .queued }.map(\.0)
        let waiting = phases.filter { $0.1.phase == .waiting || $0.1.phase == .checkingReadiness }
            .map(\.0)
        let subjects = executing.prefix(3) + ready.prefix(1) + waiting
        let explanation = Explainer(Array(subjects)).explanation()
        return OperationQueueExplanation(
            queue: label, isSuspended: isSuspended, executingCount: executing.count,
            readyCount: ready.count, waitingCount: waiting.count, causes: explanation.causes,
            omittedCount: explanation.omittedCount)
    }
}
