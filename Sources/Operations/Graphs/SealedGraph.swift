import OperationsRuntime
import Synchronization

/// A graph of blocks in the form in which it runs: checked for cycles, and with its edges sorted by
/// the node that comes first.
///
/// Unchecked: only `init` writes the memory.
final class SealedGraph: @unchecked Sendable {
    let name: String?
    let label: String
    let bodies: ContiguousArray<NodeBody>
    let traits: [UInt32: [OperationTrait]]
    let slotCount: Int
    /// Whether a node has what only an operation can have.
    let needsOperations: Bool
    /// Whether a node runs only after a failure of another one.
    private(set) var hasHandlers = false
    /// For each node, the number of nodes that it comes after.
    private let counts: UnsafeMutablePointer<UInt32>
    /// The successors of node `n` are at `rows[n]..<rows[n + 1]` in `list`.
    private let rows: UnsafeMutablePointer<UInt32>
    private let list: UnsafeMutablePointer<NodeSuccessor>

    var count: Int { bodies.count }

    /// - Complexity: O(nodes and edges).
    fileprivate init(_ graph: BlockGraph) throws(OperationGraphError) {
        (name, label, bodies, traits) = (graph.name, graph.label, graph.bodies, graph.traits)
        slotCount = Int(graph.slotCount)
        needsOperations =
            bodies.contains(where: \.isAsynchronous)
            || traits.values.contains { OperationOptions($0).haveMoreThanName }
        counts = Memory.allocate(of: UInt32.self, count: bodies.count)
        rows = Memory.allocate(of: UInt32.self, count: bodies.count + 2)
        list = Memory.allocate(of: NodeSuccessor.self, count: graph.edges.count)
        sort(graph.edges)
        if graph.hasBackwardEdges, let cycle = findCycle() { throw .cycle(cycle) }
    }

    /// Returns a graph without nodes, with the name of another one.
    static func empty(like graph: BlockGraph) -> SealedGraph {
        // A graph without nodes has no cycle.
        do { return try SealedGraph(BlockGraph(graph.name)) } catch { fatalError("\(error)") }
    }

    deinit {
        Memory.deallocate(counts)
        Memory.deallocate(rows)
        Memory.deallocate(list)
    }

    /// Sorts the edges by counting them.
    private func sort(_ edges: ContiguousArray<NodeEdge>) {
        counts.initialize(repeating: 0, count: count)
        rows.initialize(repeating: 0, count: count + 2)
        edges.withUnsafeBufferPointer { edges in
            for edge in edges {
                rows[Int(edge.dependency) + 2] &+= 1
                counts[Int(edge.successor.index)] &+= 1
                if edge.successor.isHandler { hasHandlers = true }
            }
            for node in 1..<count + 2 { rows[node] &+= rows[node - 1] }
            // The row of node `n` begins at `rows[n + 1]`, which moves to the row's end.
            for edge in edges {
                let node = Int(edge.dependency) + 1
                list[Int(rows[node])] = edge.successor
                rows[node] &+= 1
            }
        }
    }

    @inline(__always)
    func successors(of node: UInt32) -> UnsafeBufferPointer<NodeSuccessor> {
        let (start, end) = (Int(rows[Int(node)]), Int(rows[Int(node) &+ 1]))
        return UnsafeBufferPointer(start: list + start, count: end &- start)
    }

    /// Copies the number of nodes before each node.
    func copyCounts(to memory: UnsafeMutablePointer<UInt32>) {
        memory.initialize(from: counts, count: count)
    }

    func hasDependencies(_ node: UInt32) -> Bool { counts[Int(node)] > 0 }

    /// The node's name; nil if it was given none.
    func name(of node: UInt32) -> String? {
        traits.isEmpty ? nil : traits[node].flatMap { OperationOptions($0).properties.name }
    }

    /// What messages call the node.
    func label(of node: UInt32) -> String {
        name(of: node).map { "'\($0)'" } ?? "node \(node) of \(label)"
    }

    // MARK: Cycles

    /// Returns the labels of nodes of which each comes before the next; the first is repeated at
    /// the end. Nil if the graph can run.
    private func findCycle() -> [String]? {
        var left = Array(UnsafeBufferPointer(start: counts, count: count))
        var free = left.indices.filter { left[$0] == 0 }
        var freed = 0
        while let node = free.popLast() {
            freed += 1
            for successor in successors(of: UInt32(node)) {
                left[Int(successor.index)] -= 1
                if left[Int(successor.index)] == 0 { free.append(Int(successor.index)) }
            }
        }
        guard freed < count else { return nil }
        // Each node that is left comes after another one that is left.
        var before: [Int: Int] = [:]
        for node in left.indices where left[node] > 0 {
            for successor in successors(of: UInt32(node)) { before[Int(successor.index)] = node }
        }
        var path: [Int] = []
        var seen: Set<Int> = []
        var node = left.indices.first { left[$0] > 0 }
        while let current = node, seen.insert(current).inserted {
            path.append(current)
            node = before[current]
        }
        guard let start = path.firstIndex(where: { $0 == node }) else { return nil }
        let cycle = [path[start]] + path[start...].reversed()
        return cycle.map { label(of: UInt32($0)) }
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
    init(_ traits: [OperationTrait]) {
        self.init()
        for trait in traits { trait.apply(&self) }
    }

    /// Whether a block cannot have these settings.
    var haveMoreThanName: Bool {
        needsController || properties.priority != nil || properties.qualityOfService != nil
    }
}
