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

    let graph: OperationGraph
    private let width: Int

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
        for member in members { member.withExtras { $0.group = self } }
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
        let tasks = InheritingTasks()
        defer { tasks.close() }
        let queue = OperationQueue(tasks: tasks)
        queue.name = name
        queue.maxConcurrentOperationCount = width
        let quality = effectiveQualityOfService
        if quality != .default { queue.qualityOfService = quality }
        do {
            try await queue.run(graph) { [unowned self] in reasonForMembers }
        } catch let error as OperationGraphError {
            endMembers(because: .scopeFailed(error: error))
            throw error
        }
    }

    override func willEndUnbegun() { endMembers(because: reasonForMembers) }

    /// What never comes into a queue ends here, without its work: others may wait for it.
    private func endMembers(because reason: CancellationReason) {
        let left = members.filter { $0.status.phase == .created }
        Operation.cancel(left, because: reason)
        for member in left where member.misuseOfStart == nil { member.start() }
    }

    private var reasonForMembers: CancellationReason {
        let reason = cancellationReason ?? .requested
        return .message("\(label), which it is a member of, was cancelled: \(reason)")
    }

    override func promoteTask() {
        super.promoteTask()
        let rank = effectiveQualityRank
        Self.perform(members.map { Promotion(operation: $0, rank: rank) })
    }
}
