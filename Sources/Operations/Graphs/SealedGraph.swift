import OperationsRuntime
import Synchronization

/// A graph of blocks in the form in which it runs: checked for cycles, and with its edges sorted.
///
/// Unchecked: only `deinit` changes the variable.
final class SealedGraph: @unchecked Sendable {
    let name: String?
    let label: String
    @exclusivity(unchecked)
    private(set) var bodies: ContiguousArray<NodeBody>
    let traits: [UInt32: [any OperationTraitOrName]]
    let slotCount: Int
    let identity: UInt32
    /// Whether a node has what only an operation can have.
    let needsOperations: Bool
    let rows: NodeRows

    var count: Int { bodies.count }

    /// - Complexity: O(nodes and edges).
    fileprivate init(_ graph: BlockGraph) throws(OperationGraphError) {
        (name, label, bodies, traits) = (graph.name, graph.label, graph.bodies, graph.traits)
        (slotCount, identity) = (Int(graph.slotCount), graph.identity)
        needsOperations =
            bodies.contains(where: \.isAsynchronous)
            || traits.values.contains { OperationOptions($0).haveMoreThanName }
        rows = NodeRows(count: bodies.count, graph.edges)
        if graph.hasBackwardEdges, let cycle = rows.cycle() { throw .cycle(cycle.map(label)) }
    }

    deinit {
        ThreadContext.releasing {
            bodies = []
        } later: {
            bodies
        }
    }

    /// Returns a graph without nodes, with the name of another one.
    static func empty(like graph: BlockGraph) -> SealedGraph {
        // A graph without nodes has no cycle.
        do { return try SealedGraph(BlockGraph(graph.name)) } catch { fatalError("\(error)") }
    }

    /// The node's name; nil if it was given none.
    func name(of node: UInt32) -> String? {
        traits.isEmpty ? nil : traits[node].flatMap { OperationOptions($0).properties.name }
    }

    /// What messages call the node.
    func label(of node: UInt32) -> String {
        name(of: node).map { "'\($0)'" } ?? "node \(node) of \(label)"
    }
}

extension SealedGraph {
    /// Keeps the sealed form of a graph between its runs. Copies of a graph share it until one of
    /// them changes.
    final class Cache: Sendable {
        private let graph = Locked<SealedGraph?>(nil)
        private let isFilled = Atomic<Bool>(false)

        /// Whether the graph was sealed, so that a change needs another cache.
        var isUsed: Bool {
            @inline(__always) get { isFilled.load(ordering: .relaxed) }
        }

        func sealed(_ graph: BlockGraph) throws(OperationGraphError) -> SealedGraph {
            if let sealed = self.graph.withLock({ $0 }) { return sealed }
            let sealed = try SealedGraph(graph)
            isFilled.store(true, ordering: .relaxed)
            self.graph.replace(with: sealed)
            return sealed
        }
    }
}

extension OperationOptions {
    init(_ traits: [any OperationTraitOrName]) {
        self.init()
        for trait in traits { trait._trait.apply(&self) }
    }

    /// Whether a block cannot have these settings.
    var haveMoreThanName: Bool {
        needsController || properties.priority != nil || properties.qualityOfService != nil
    }
}
