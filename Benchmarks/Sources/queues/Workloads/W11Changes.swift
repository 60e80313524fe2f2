extension Workload {
    /// Measured: one call each, on a hundred operations spread over a suspended queue of N. Not
    /// measured: making and adding the operations, and emptying the queue afterwards. The larger
    /// queue should take no longer.
    static let changes = Workload(
        name: "W11", title: "changing one of N queued operations", sizes: [1_000, 100_000],
        metrics: [
            Metric(key: "priority_ns", title: "ns, priority"),
            Metric(key: "add_dependency_ns", title: "ns, addDependency"),
            Metric(key: "remove_dependency_ns", title: "ns, removeDependency"),
            Metric(key: "cancel_ns", title: "ns, cancel"),
        ],
        maximumRounds: 3
    ) { entrant, size in
        entrant.contender.changes(among: size).map {
            [$0.priority, $0.addDependency, $0.removeDependency, $0.cancel].map(\.nanoseconds)
        }
    }
}
