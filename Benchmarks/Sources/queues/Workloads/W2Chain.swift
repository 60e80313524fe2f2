extension Workload {
    /// Measured: making the operations, their dependencies, adding all in one call where there is one,
    /// waiting, and releasing them. The graph itself, as numbers, is made before. So for W3 and W4.
    static let chains = [
        graph(
            "W2", "chain", sizes: [1_000, 10_000, 100_000], make: Graph.chain),
        // Flatness shows with those that come near; the others would take most of the time.
        graph(
            "W2", "chain", variant: "long", sizes: [1_000_000], rounds: 2,
            limits: [.dispatch, .taskgroup, .go].reduce(into: [:]) {
                $0[$1] = Limit(size: 100_000, reason: "its time would not change")
            }, make: Graph.chain),
    ]

    static func graph(
        _ name: String, _ title: String, variant: String? = nil, external: String? = nil,
        sizes: [Int], rounds: Int = .max, limits: [Peer: Limit] = [:],
        make: @escaping @Sendable (Int) -> Graph
    ) -> Workload {
        Workload(
            name: name, variant: variant, title: title, sizes: sizes,
            limits: limits.merging([.foundation: .quadratic(4_096)]) { $1 }, maximumRounds: rounds
        ) { entrant, size in
            let graph = make(size)
            return try entrant.perOperation(graph.count, [external ?? name, "\(size)"]) {
                $0.run(graph)
            }
        }
    }
}
