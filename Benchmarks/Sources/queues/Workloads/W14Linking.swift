extension Workload {
    /// Measured: `addDependency` alone, once for each edge of a graph. First the operations are
    /// made, and the edges added, in the order of the graph. The other figures are ratios to that
    /// time: operations made in reverse order, with edges added from the graph's beginning and from
    /// its end; operations made in random order; and two threads that link a graph each, made in
    /// reverse, compared with one thread.
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
