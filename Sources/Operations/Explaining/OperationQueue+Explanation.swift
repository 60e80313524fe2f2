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
    /// The queue is not stopped meanwhile: additions and workers wait for the explanation only for
    /// moments, however many operations the queue holds. The operation of a block that waits is
    /// made only if the explanation is about it.
    ///
    /// - Complexity: O(n), and O(operations that the queue's operations wait for, and their edges;
    ///   at most 10,000).
    public final func explain() -> OperationQueueExplanation {
        explanation()
    }

    /// Explains the queue.
    ///
    /// - Parameter operations: the operations that the causes are about; nil for those of
    ///   ``explain()``.
    final func explanation(of operations: [Operation]? = nil) -> OperationQueueExplanation {
        let census = QueueCensus(of: self)
        let explanation = Explainer(operations ?? census.subjects).explanation()
        return OperationQueueExplanation(
            queue: label, isSuspended: isSuspendedItself, executingCount: census.executing.count,
            readyCount: census.readyCount, waitingCount: census.waiting.count,
            causes: explanation.causes, omittedCount: explanation.omittedCount)
    }

    /// Whether the queue is suspended, whatever an override says.
    private var isSuspendedItself: Bool { snapshot { $0.slots.isSuspended } }
}

/// What the operations of a queue are doing.
struct QueueCensus {
    private(set) var executing: [Operation] = []
    private(set) var waiting: [Operation] = []
    private(set) var readyCount = 0
    private var firstReady: Operation?

    init(of queue: OperationQueue) {
        queue.walk {
            self = QueueCensus()
        } _: {
            add($1, at: $2, in: &$0)
        }
    }

    private init() {}

    /// The operations that the explanation of the queue is about.
    var subjects: [Operation] {
        executing.prefix(3) + [firstReady].compactMap { $0 } + waiting
    }

    private mutating func add(_ entry: Entry, at place: Int, in state: inout QueueState) {
        guard let operation = entry.operation?.takeUnretainedValue() else {
            // Other blocks have ended, or were dropped.
            guard state.ring.isReady(place, lane: PriorityLanes.normal) else { return }
            readyCount += 1
            if firstReady == nil { firstReady = state.materialize(place).takeUnretainedValue() }
            return
        }
        let status = operation.status
        switch status.phase {
        case .created, .finished: break
        case .starting, .executing: executing.append(operation)
        case .waiting, .checkingReadiness: waiting.append(operation)
        case .queued:
            readyCount += 1
            if firstReady == nil { firstReady = operation }
        }
    }
}
