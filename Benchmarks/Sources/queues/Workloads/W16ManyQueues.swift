extension Workload {
    /// Measured: making N queues, adding ten blocks to each, waiting for all blocks, and dropping
    /// the queues; for each block. The second figure is for making and dropping one queue that is
    /// never used.
    static let manyQueues = Workload(
        name: "W16", title: "many queues with ten blocks each", sizes: [10_000],
        metrics: [.nanoseconds, Metric(key: "queue_ns", title: "ns, making a queue")]
    ) { entrant, size in
        guard let used = entrant.contender.queues(size, blocksEach: 10),
            let unused = entrant.contender.queues(size, blocksEach: 0)
        else { return nil }
        return [used.nanoseconds / Double(10 * size), unused.nanoseconds / Double(size)]
    }
}
