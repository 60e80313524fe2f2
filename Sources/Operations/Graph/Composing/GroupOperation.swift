import Synchronization

/// A graph that runs as one operation.
///
/// ```swift
/// let release = GroupOperation("release", width: 2) {
///     InOrder { build; test; sign }
///     notes
/// }
/// release.addDependency(review, on: .success)
/// queue.addOperation(release)
/// ```
///
/// It starts its members when it starts itself, on a queue of its own, and has finished when all of them have. It
/// holds no thread meanwhile, and one place in the width of its queue. If a member fails, and nothing is there to
/// run on that failure, the group fails with the error when all have ended; see ``OperationQueue/run(_:)``.
/// Cancelling it cancels its members, also if it has not begun: then they end with it, without their work.
///
/// It can depend on others, be depended on, stand in a graph and be a member of another group; so can its
/// members, which may depend on operations outside. If the graph turns out not to be able to run, the group fails
/// with the ``OperationGraphError``, and its members are cancelled.
public final class GroupOperation: TypedOperation<Void>, @unchecked Sendable {
    // Unchecked because a superclass is: this adds constants.

    /// Changes when the operation is released, and not before.
    private(set) var graph: OperationGraph
    private let width: Int
    /// The dependencies that were known when its members were last checked, with the graph that it is in; see
    /// ``GraphCheck``.
    let checkedEdges = Atomic<Int>(0)

    /// Makes an operation of a graph, with its name.
    ///
    /// - Parameters:
    ///   - graph: what it consists of.
    ///   - width: how many members may run at the same time.
    public init(
        _ graph: OperationGraph,
        width: Int = OperationQueue.defaultMaxConcurrentOperationCount
    ) {
        self.graph = graph
        self.width = width
        super.init()
        name = graph.name
        for member in members {
            member.withExtras { $0.group = self }
            if member is GroupOperation { GraphCheck.recordNestedGroups() }
        }
    }

    deinit {
        ThreadContext.releasing {
            graph = OperationGraph()
        } later: {
            graph
        }
    }

    /// Makes an operation of what a block lists, as ``OperationGraph`` does.
    public convenience init(
        _ name: String? = nil, width: Int = OperationQueue.defaultMaxConcurrentOperationCount,
        @OperationGraphBuilder _ content: () throws -> [OperationGraphPart]
    ) rethrows {
        self.init(try OperationGraph(name, content), width: width)
    }

    /// What it consists of.
    public var members: [Operation] { graph.operations }

    /// Those of its members that were cancelled, by whomever.
    public var cancelledMembers: [Operation] { members.filter(\.isCancelled) }

    /// Runs the members.
    public override func main() async throws {
        let tasks = TaskLocalExecutor()
        defer { tasks.close() }
        let queue = OperationQueue(tasks: tasks)
        queue.name = name
        queue.maxConcurrentOperationCount = width
        let quality = effectiveQualityOfService
        if quality != .default { queue.qualityOfService = quality }
        do {
            let checked = checkedEdges.load(ordering: .acquiring)
            try await queue.run(graph, checkedEdges: checked) { [unowned self] in
                reasonForMembers
            }
        } catch let error as OperationGraphError {
            endMembers(because: .scopeFailed(error: error))
            throw error
        }
    }

    override func willEndUnbegun() { endMembers(because: reasonForMembers) }

    /// What never comes into a queue ends here, without its work: others may wait for it.
    private func endMembers(because reason: CancellationReason) {
        // Those of groups inside of it, too, so that these find them ended and do not do the same: groups
        // may be deeper inside of each other than a thread's stack is.
        var left = endingMembers(because: reason)
        var next = 0
        while next < left.count {
            if let group = left[next] as? GroupOperation {
                left += group.endingMembers(because: group.reasonForMembers)
            }
            next += 1
        }
        for member in left.reversed() where member.misuseOfStart == nil { member.start() }
    }

    /// Cancels those of its members that never come into a queue.
    private func endingMembers(because reason: CancellationReason) -> [Operation] {
        let left = members.filter { $0.status.phase == .created }
        Operation.cancel(left, because: reason)
        return left
    }

    private var reasonForMembers: CancellationReason {
        let reason = cancellationReason ?? .requested
        // With groups inside of groups the sentence grows; at some depth those about outer ones are enough.
        if "\(reason)".utf8.count > 400 { return reason }
        return .message("\(label), which it is a member of, was cancelled: \(reason)")
    }

    override func promoteTask() {
        super.promoteTask()
        let rank = effectiveQualityRank
        Self.perform(members.map { Promotion(operation: $0, rank: rank) })
    }
}
