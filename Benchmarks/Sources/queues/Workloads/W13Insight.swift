extension Workload {
    /// Measured: as W2, without observers, with a timeline that records the queue, with statistics,
    /// and with both. The cost of an observer is its figure minus the first figure.
    static let insight = [
        insight("blocks", Graph.independent), insight("chain", Graph.chain),
    ]

    private static func insight(
        _ variant: String, _ make: @escaping @Sendable (Int) -> Graph
    ) -> Workload {
        Workload(
            name: "W13", variant: variant, title: "\(variant) with observers",
            sizes: [100_000],
            metrics: [
                Metric(key: "alone_ns", title: "ns, no observer"),
                Metric(key: "timeline_ns", title: "ns, timeline"),
                Metric(key: "statistics_ns", title: "ns, statistics"),
                Metric(key: "both_ns", title: "ns, both"),
            ]
        ) { entrant, size in
            let graph = make(size)
            let durations = Onlookers.each.map { entrant.contender.run(graph, seenBy: $0) }
            guard durations.allSatisfy({ $0 != nil }) else { return nil }
            return durations.compactMap { $0.map { $0.nanoseconds / Double(size) } }
        }
    }
}

/// The observers of a queue.
struct Onlookers: OptionSet, Sendable {
    let rawValue: Int
    static let timeline = Onlookers(rawValue: 1)
    static let statistics = Onlookers(rawValue: 2)
    static let each: [Onlookers] = [[], .timeline, .statistics, [.timeline, .statistics]]
}
