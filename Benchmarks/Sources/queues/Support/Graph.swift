/// A graph without cycles: node `i` depends only on nodes below `i`.
///
/// The edges are in two flat arrays, one for each direction, so that look-ups cost nothing for
/// peers that keep counts by hand.
struct Graph: Sendable {
    private let dependencyStarts: [Int]
    private let dependencyList: [Int]
    private let successorStarts: [Int]
    private let successorList: [Int]

    var count: Int { dependencyStarts.count - 1 }
    func dependencies(of node: Int) -> ArraySlice<Int> {
        dependencyList[dependencyStarts[node]..<dependencyStarts[node + 1]]
    }
    func successors(of node: Int) -> ArraySlice<Int> {
        successorList[successorStarts[node]..<successorStarts[node + 1]]
    }

    /// The same graph in memory of its own.
    func copy() -> Graph {
        Graph(count: count) { node, list in list += dependencies(of: node) }
    }

    private init(count: Int, dependencies: (Int, inout [Int]) -> Void) {
        var starts = [0]
        var list: [Int] = []
        var successorCounts = [Int](repeating: 0, count: count + 1)
        for node in 0..<count {
            let first = list.count
            dependencies(node, &list)
            for dependency in list[first...] { successorCounts[dependency + 1] += 1 }
            starts.append(list.count)
        }
        for node in 0..<count { successorCounts[node + 1] += successorCounts[node] }
        var next = successorCounts
        var successors = [Int](repeating: 0, count: list.count)
        for node in 0..<count {
            for dependency in list[starts[node]..<starts[node + 1]] {
                successors[next[dependency]] = node
                next[dependency] += 1
            }
        }
        dependencyStarts = starts
        dependencyList = list
        successorStarts = successorCounts
        successorList = successors
    }
}

extension Graph {
    /// Nodes without dependencies.
    static func independent(_ count: Int) -> Graph { Graph(count: count) { _, _ in } }

    /// Each node depends on the one before it.
    static func chain(_ count: Int) -> Graph {
        Graph(count: count) { node, list in if node > 0 { list.append(node - 1) } }
    }

    /// One node, then `width` nodes that depend on it, then one node that depends on all of these.
    static func fan(_ width: Int) -> Graph {
        Graph(count: width + 2) { node, list in
            if node == width + 1 {
                list.append(contentsOf: 1...width)
            } else if node > 0 {
                list.append(0)
            }
        }
    }

    /// Each node depends on two random earlier nodes, or twice on the same one.
    static func random(_ count: Int) -> Graph {
        var random = Random()
        return Graph(count: count) { node, list in
            guard node > 0 else { return }
            for _ in 0..<2 { list.append(random.next(below: node)) }
        }
    }

    /// Layers of 1,000 nodes (a tenth of all nodes if there are fewer than 10,000). Each node
    /// depends on four random nodes of the previous layer; the same node may be drawn several
    /// times.
    ///
    /// The programs in `Peers/` draw the same numbers.
    static func layered(_ wanted: Int) -> Graph {
        let width = min(1_000, max(1, wanted / 10))
        var random = Random()
        return Graph(count: wanted / width * width) { node, list in
            guard node >= width else { return }
            let layer = node / width - 1
            for _ in 0..<4 { list.append(layer * width + random.next(below: width)) }
        }
    }

    /// A square in which each node depends on its neighbors above and to the left.
    static func wavefront(_ wanted: Int) -> Graph {
        let side = Int(Double(wanted).squareRoot())
        return Graph(count: side * side) { node, list in
            if node >= side { list.append(node - side) }
            if node % side > 0 { list.append(node - 1) }
        }
    }
}
