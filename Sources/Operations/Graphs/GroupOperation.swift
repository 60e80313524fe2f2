import OperationsRuntime
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
/// When the group starts, it starts its members on a queue of its own. The group has finished when
/// all members have. Meanwhile it holds no thread, and one slot of its queue. If a member fails and
/// no other operation handles the failure (``DependencyCondition/failure``), the group fails with
/// the error once all members have ended; see ``OperationQueue/run(_:)->()``. Cancelling the group
/// cancels its members. If the group has not begun by then, its members end with it, without
/// running their bodies.
///
/// A group can depend on operations, be depended on, stand in a graph and be a member of another
/// group. So can its members, which may depend on operations outside the group. If the graph turns
/// out not to be able to run, the group fails with the ``OperationGraphError``, and its members are
/// cancelled.
public final class GroupOperation: TypedOperation<Void>, @unchecked Sendable {
    // Unchecked because a superclass is. This class adds two constants, an atomic, and `graph`,
    // which only `deinit` changes.

    /// The members and their order. Only `deinit` changes it.
    private(set) var graph: OperationGraph
    private let width: Int
    /// The number of dependencies known to the last check that included the members, as part of the
    /// enclosing graph; 0 if there was none. See ``GraphCheck``.
    let checkedEdges = Atomic<Int>(0)

    /// Makes an operation of a graph, with the graph's name.
    ///
    /// - Parameters:
    ///   - graph: the members and their order.
    ///   - width: how many members may run at the same time.
    public init(
        _ graph: OperationGraph,
        width: Int = OperationQueue.defaultMaxConcurrentOperationCount
    ) {
        self.graph = graph
        self.width = width
        super.init()
        name = graph.name
        // The members wait for the group; see Cycles.md.
        if !members.isEmpty { lifecycle.insert(.hasSuccessors) }
        for member in members {
            member.withExtras { $0.group = self }
            if member is GroupOperation { EdgeCount.recordNestedGroups() }
        }
    }

    deinit {
        ThreadContext.releasing {
            graph = OperationGraph()
        } later: {
            graph
        }
    }

    /// Makes an operation of the items that a block lists, as ``OperationGraph`` does.
    public convenience init(
        _ name: String? = nil, width: Int = OperationQueue.defaultMaxConcurrentOperationCount,
        @OperationGraphBuilder _ content: () throws -> [OperationGraph.Part]
    ) rethrows {
        self.init(try OperationGraph(name, content), width: width)
    }

    /// The members of the group.
    public var members: [Operation] { graph.operations }

    /// The members that were cancelled, for any reason.
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

    /// Ends the members that never enter a queue, without running their bodies: other operations
    /// may wait for them.
    private func endMembers(because reason: CancellationReason) {
        // This also ends the members of inner groups. The inner groups then find their members
        // ended and do not recurse: groups may be nested deeper than a thread's stack allows.
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

    /// Cancels the members that never enter a queue, and returns them.
    private func endingMembers(because reason: CancellationReason) -> [Operation] {
        let left = members.filter { $0.status.phase == .created }
        Operation.cancel(left, because: reason)
        return left
    }

    private var reasonForMembers: CancellationReason {
        let reason = cancellationReason ?? .requested
        // The sentence grows with each level of nesting. Beyond some depth the sentences about the
        // outer groups are enough.
        if "\(reason)".utf8.count > 400 { return reason }
        return .message("\(label), which it is a member of, was cancelled: \(reason)")
    }

    override func promoteTask() {
        super.promoteTask()
        let rank = effectiveQualityRank
        Self.perform(members.map { Promotion(operation: $0, rank: rank) })
    }
}
