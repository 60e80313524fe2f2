import Operations

/// Graphs of blocks, for which no operations are made.
extension OperationsPeer {
    func runBlocks(_ graph: Graph) -> Duration? {
        let marks = Marks(count: graph.count)
        let queue = OperationQueue()
        let duration = time {
            let blocks = blocks(of: graph, marks)
            do {
                try queue.add(blocks).waitUntilFinished()
            } catch {
                fatalError("\(error)")
            }
        }
        marks.release(expecting: 1, of: .operations)
        return duration
    }

    func runAgain(_ graph: Graph, times: Int) -> Duration? {
        let marks = Marks(count: graph.count)
        let queue = OperationQueue()
        let blocks = blocks(of: graph, marks)
        func run() {
            do { try queue.add(blocks).waitUntilFinished() } catch { fatalError("\(error)") }
        }
        run()
        let duration = time { for _ in 0..<times { run() } }
        marks.release(expecting: UInt8(truncatingIfNeeded: times + 1), of: .operations)
        return duration
    }

    private func blocks(of graph: Graph, _ marks: Marks) -> BlockGraph {
        var blocks = BlockGraph()
        var nodes: [BlockGraph.Node<Void>] = []
        nodes.reserveCapacity(graph.count)
        for index in 0..<graph.count { nodes.append(blocks.add { marks.mark(index) }) }
        for index in 0..<graph.count {
            for dependency in graph.dependencies(of: index) {
                blocks.connect(nodes[dependency], before: nodes[index])
            }
        }
        return blocks
    }
}
