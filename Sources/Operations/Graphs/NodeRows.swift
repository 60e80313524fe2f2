import OperationsRuntime

/// The order of the nodes of a graph: the edges, sorted by the node that comes first.
///
/// Unchecked: only `init` writes the memory.
final class NodeRows: @unchecked Sendable {
    let count: Int
    /// Whether a node runs only after a failure of another one.
    private(set) var hasHandlers = false
    /// For each node, the number of nodes that it comes after.
    private let counts: UnsafeMutablePointer<UInt32>
    /// The successors of node `n` are at `rows[n]..<rows[n + 1]` in `list`.
    private let rows: UnsafeMutablePointer<UInt32>
    private let list: UnsafeMutablePointer<NodeSuccessor>

    /// - Complexity: O(nodes and edges).
    init(count: Int, _ edges: ContiguousArray<NodeEdge>) {
        self.count = count
        counts = Memory.allocate(of: UInt32.self, count: count)
        rows = Memory.allocate(of: UInt32.self, count: count + 2)
        list = Memory.allocate(of: NodeSuccessor.self, count: edges.count)
        sort(edges)
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

    // MARK: Cycles

    /// Returns nodes of which each comes before the next; the first is repeated at the end. Nil if
    /// there is no cycle.
    func cycle() -> [UInt32]? {
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
        return cycle.map { UInt32($0) }
    }
}

/// That one node comes before another one.
struct NodeEdge: BitwiseCopyable {
    /// The node that comes first.
    let dependency: UInt32
    private let word: UInt32

    /// The number of nodes that an edge can tell apart.
    static var limit: UInt32 { 1 << 30 }

    @inline(__always)
    init(from dependency: UInt32, to dependent: UInt32, on condition: DependencyCondition) {
        self.dependency = dependency
        word = dependent | UInt32(truncatingIfNeeded: condition.rawValue) << 30
    }

    /// The other end, in the form in which the rows of a sealed graph keep it.
    var successor: NodeSuccessor { NodeSuccessor(word: word) }
}

/// A node that comes after another one, and on which condition.
struct NodeSuccessor: BitwiseCopyable {
    fileprivate let word: UInt32

    var index: UInt32 {
        @inline(__always) get { word & (NodeEdge.limit - 1) }
    }

    /// Whether the node runs only after a failure.
    var isHandler: Bool {
        @inline(__always) get { condition == .failure }
    }

    var condition: DependencyCondition {
        @inline(__always) get {
            DependencyCondition(rawValue: UInt(word >> 30)).unsafelyUnwrapped
        }
    }
}
