extension Workload {
    /// Measured: making, adding and running blocks, a chain or `async` bodies that yield once,
    /// without observers; with a timeline that records the queue; with statistics; with both; with
    /// telemetry that has only a logger, which takes errors and warnings; and with telemetry that
    /// has only metrics, kept in memory as a backend keeps them. The cost of an observer is its
    /// figure minus the first figure.
    static let insight = [
        insight("blocks") { $0.run(Graph.independent($1), seenBy: $2) },
        insight("chain") { $0.run(Graph.chain($1), seenBy: $2) },
        insight("async bodies") { $0.asynchronous($1, seenBy: $2) },
    ]

    private static func insight(
        _ variant: String,
        _ run: @escaping @Sendable (any Contender, Int, Onlookers) -> Duration?
    ) -> Workload {
        Workload(
            name: "W13", variant: variant, title: "\(variant) with observers",
            sizes: [100_000],
            metrics: Onlookers.each.map { Metric(key: "\($0.key)_ns", title: "ns, \($0.title)") }
        ) { entrant, size in
            let durations = Onlookers.each.map { run(entrant.contender, size, $0.onlookers) }
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
    static let logger = Onlookers(rawValue: 4)
    static let metrics = Onlookers(rawValue: 8)

    static let each: [(onlookers: Onlookers, key: String, title: String)] = [
        ([], "alone", "no observer"), (.timeline, "timeline", "timeline"),
        (.statistics, "statistics", "statistics"), ([.timeline, .statistics], "both", "both"),
        (.logger, "logger", "logger alone"), (.metrics, "metrics", "metrics"),
    ]
}
