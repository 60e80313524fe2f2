public import Operations
import OperationsRuntime

/// A report that a queue, or an operation that executes in it, has not gone on for some time.
public struct OperationQueueStall: Sendable, CustomStringConvertible {
    /// An operation, or a node of a `BlockGraph`, that has executed for longer than its limit.
    public struct LongOperation: Sendable, CustomStringConvertible {
        /// The operation's name in quotes or, without one, its class. For a node, its name in
        /// quotes or, without one, its number and its graph.
        public let name: String
        /// For how long the operation has executed. For an `async` body, the time since a piece of
        /// the body began last.
        public let duration: Duration
        /// Whether the operation has an `async` body that is suspended.
        public let isSuspended: Bool
        /// What the thread that executes the operation does, as a clause: "its thread computes".
        /// Nil if no worker executes the operation, or if the system does not say.
        ///
        /// On Linux the clause names the place in the kernel at which the thread waits, if the
        /// process may read it.
        public let thread: String?

        /// The duration, and what the thread does, without a full stop.
        public var description: String {
            "\(name) has \(isSuspended ? "been suspended" : "executed") for \(duration.text)"
                + (thread.map { ", and \($0)" } ?? "")
        }
    }

    /// The queue's label, as in messages.
    public let queue: String
    /// For how long nothing has begun, been resumed or ended in the queue. If only operations are
    /// reported, the longest of their durations.
    public let duration: Duration
    /// How many operations of the queue have not ended.
    public let unfinishedCount: Int
    /// Whether the whole queue stands still. If not, only ``operations`` do.
    public let isOfWholeQueue: Bool
    /// The operations that have executed for longer than their limit, and were not reported before.
    public let operations: [LongOperation]
    /// What the queue is doing, and what keeps its operations from running; of ``operations`` only,
    /// if the queue goes on.
    public let explanation: OperationQueueExplanation

    /// A line that describes the stall, a line for each of ``operations``, and the explanation.
    public var description: String {
        var lines: [String] = []
        if isOfWholeQueue {
            lines.append(
                "\(queue): nothing has begun or ended for \(duration.text), and \(unfinishedCount) "
                    + "operation\(unfinishedCount == 1 ? " has" : "s have") not ended.")
        }
        lines += operations.map { "\(queue): \($0)." }
        return (lines + ["\(explanation)"]).joined(separator: "\n")
    }
}

extension OperationQueueStall {
    init(
        _ queue: OperationQueue, _ nanoseconds: UInt64, _ pulse: QueuePulse,
        isOfWholeQueue: Bool = true, _ operations: [LongOperation],
        _ explanation: OperationQueueExplanation
    ) {
        self.init(
            queue: queue.label, duration: .nanoseconds(Int64(clamping: nanoseconds)),
            unfinishedCount: pulse.count, isOfWholeQueue: isOfWholeQueue, operations: operations,
            explanation: explanation)
    }
}

extension OperationQueueStall.LongOperation {
    /// - Parameter node: the node of the operation, which is a graph; nil for the operation itself.
    init(
        _ operation: Operation, node: UInt32?, _ nanoseconds: UInt64, in queue: OperationQueue
    ) {
        if let node {
            name = operation.label(ofNode: node) ?? operation.label
            duration = .nanoseconds(Int64(clamping: nanoseconds))
            isSuspended = false
            thread = operation.threadActivity(ofNode: node, in: queue)?.text
            return
        }
        name = operation.label
        duration = .nanoseconds(Int64(clamping: nanoseconds))
        isSuspended = operation.isSuspendedInTask
        thread = isSuspended ? nil : operation.threadActivity(in: queue)?.text
    }
}
