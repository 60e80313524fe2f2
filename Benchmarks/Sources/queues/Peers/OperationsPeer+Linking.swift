import Operations

extension OperationsPeer {
    func linked(_ graph: Graph) -> [Double]? {
        let inOrder = Array(0..<graph.count)
        let reversed = Array(inOrder.reversed())
        var random = Random()
        var shuffled = inOrder
        for last in shuffled.indices.reversed() {
            shuffled.swapAt(last, random.next(below: last + 1))
        }
        // The first run includes the time to get the process's memory.
        _ = link(graph, made: inOrder)
        let usual = link(graph, made: inOrder)
        let others = [
            link(graph, made: reversed), link(graph, made: reversed, fromEnd: true),
            link(graph, made: shuffled),
        ]
        // The first run of two threads includes the time in which the allocator gets memory for
        // each thread.
        _ = linked(graph, made: reversed, byThreads: 2)
        let one = linked(graph, made: reversed, byThreads: 1)
        let two = linked(graph, made: reversed, byThreads: 2)
        let edges = (0..<graph.count).reduce(0) { $0 + graph.dependencies(of: $1).count }
        return [usual.nanoseconds / Double(edges)] + others.map { $0 / usual } + [two / one]
    }

    /// - Parameter places: the index of each node's operation in order of creation.
    private func link(_ graph: Graph, made places: [Int], fromEnd: Bool = false) -> Duration {
        let operations = operations(for: graph, made: places)
        return time {
            if fromEnd {
                for node in (0..<graph.count).reversed() { link(node, of: graph, operations) }
            } else {
                for node in 0..<graph.count { link(node, of: graph, operations) }
            }
        }
    }

    private func linked(_ graph: Graph, made places: [Int], byThreads count: Int) -> Duration {
        // Each thread makes its own graph and its own operations, as threads that build graphs do.
        // Operations that another thread has made are in the cache of that thread's processor. With
        // shared arrays, the threads would contend for the reference counts of these arrays.
        Threads.race(count) {
            (graph: graph.copy(), operations: operations(for: graph, made: places))
        } _: { graph, operations in
            for node in 0..<graph.count { link(node, of: graph, operations) }
        }
    }

    private func operations(for graph: Graph, made places: [Int]) -> [Operation] {
        let made = places.map { _ in Operation() }
        return places.map { made[$0] }
    }

    private func link(_ node: Int, of graph: Graph, _ operations: [Operation]) {
        for dependency in graph.dependencies(of: node) {
            operations[node].addDependency(operations[dependency])
        }
    }
}
