extension Workload {
    /// Measured: making the operations and their dependencies, adding them in the peer's fastest
    /// way, waiting, and releasing them. The graph itself, as numbers, is made in advance. The same
    /// holds for W3 and W4.
    static let chains = [
        // Only peers of comparable speed run a million; the others would take most of the time.
        graph(
            "W2", "chain", sizes: [1_000, 10_000, 100_000, 1_000_000],
            limits: [.dispatch, .taskgroup, .go, .java].reduce(into: [:]) {
                $0[$1] = Limit(size: 100_000, reason: "to save time")
            }, make: Graph.chain),
        Workload(
            name: "W2", variant: "notify", title: "chain, by notify", sizes: [10_000, 100_000],
            limits: [.foundation: .quadratic(10_000)]
        ) { entrant, size in
            try entrant.perOperation(size, ["W2-notify", "\(size)"]) { $0.notifiedChain(size) }
        },
    ]

    static func graph(
        _ name: String, _ title: String, variant: String? = nil, external: String? = nil,
        sizes: [Int], limits: [Peer: Limit] = [:],
        make: @escaping @Sendable (Int) -> Graph
    ) -> Workload {
        Workload(
            name: name, variant: variant, title: title, sizes: sizes,
            limits: limits.merging([.foundation: .quadratic(10_000)]) { $1 }
        ) { entrant, size in
            let graph = make(size)
            return try entrant.perOperation(graph.count, [external ?? name, "\(size)"]) {
                $0.run(graph)
            }
        }
    }
}
