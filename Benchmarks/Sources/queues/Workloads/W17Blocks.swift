extension Workload {
    /// The graphs of W2 and W4 as graphs of blocks, for which no operations are made: making the
    /// nodes and edges, running them, releasing them. Then the same with a graph that was made and
    /// run before, and is run a hundred times; for each node of each run.
    static let graphsOfBlocks =
        [
            blocks(
                "chain", external: "W2", sizes: [1_000, 10_000, 100_000, 1_000_000],
                make: Graph.chain),
            blocks(
                "wavefront", external: "W4-wavefront", sizes: [128 * 128, 512 * 512],
                make: Graph.wavefront),
            blocks(
                "layers", external: "W4-layered", sizes: [10_000, 100_000], make: Graph.layered),
        ] + [
            again("chain", external: "W2", make: Graph.chain),
            again("wavefront", external: "W4-wavefront", make: Graph.wavefront),
            again("layers", external: "W4-layered", make: Graph.layered),
        ]

    private static func blocks(
        _ kind: String, external: String, sizes: [Int],
        make: @escaping @Sendable (Int) -> Graph
    ) -> Workload {
        Workload(
            name: "W17", variant: kind, title: "\(kind), as a graph of blocks", sizes: sizes,
            limits: [.go, .java].reduce(into: [:]) {
                $0[$1] = Limit(size: 100_000, reason: "to save time")
            }
        ) { entrant, size in
            let graph = make(size)
            return try entrant.perOperation(graph.count, [external, "\(size)"]) {
                $0.runBlocks(graph)
            }
        }
    }

    private static func again(
        _ kind: String, external: String, make: @escaping @Sendable (Int) -> Graph
    ) -> Workload {
        Workload(
            name: "W17", variant: "\(kind)-again", title: "\(kind), run a hundred times",
            sizes: [1_000, 10_000]
        ) { entrant, size in
            let graph = make(size)
            return try entrant.perOperation(
                100 * graph.count, ["\(external)-again", "\(size)", "100"]
            ) {
                $0.runAgain(graph, times: 100)
            }
        }
    }
}
