extension Workload {
    /// Measured: `addDependency` alone, once for each edge of a graph, where the operations were
    /// made in the order of the graph and the edges are added in that order, too. Then how many
    /// times as long it takes where the operations were made in the reverse order, with the edges
    /// added from the graph's beginning and from its end; where they were made in a random order;
    /// and where two threads link a graph each, made in reverse, against one thread.
    static let linking = [
        linking("chain", Graph.chain), linking("random", Graph.random),
        linking("layers", Graph.layered),
    ]

    private static func linking(
        _ variant: String, _ make: @escaping @Sendable (Int) -> Graph
    ) -> Workload {
        Workload(
            name: "W14", variant: variant, title: "linking, \(variant)", sizes: [10_000, 100_000],
            metrics: [
                Metric(key: "in_order_ns", title: "ns an edge, in order"),
                Metric(key: "reversed_ratio", title: "times in order, made in reverse"),
                Metric(key: "from_end_ratio", title: "times in order, linked from the end"),
                Metric(key: "shuffled_ratio", title: "times in order, made in random order"),
                Metric(key: "two_threads_ratio", title: "times one thread, two threads"),
            ]
        ) { entrant, size in entrant.contender.linked(make(size)) }
    }
}
