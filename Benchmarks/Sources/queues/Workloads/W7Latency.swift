extension Workload {
    /// Measured: from just before the call that adds a block to the block's first instruction, on a
    /// queue that has been idle for 5 ms, so that its workers sleep. Each round gives one median
    /// and one 99th percentile of 200 samples.
    static let latency = Workload(
        name: "W7", title: "idle queue: from adding to the first instruction", sizes: [200],
        isScalable: false,
        metrics: [
            Metric(key: "p50_us", title: "µs, median"),
            Metric(key: "p99_us", title: "µs, 99th percentile"),
        ],
        maximumRounds: 3, warmsUp: false
    ) { entrant, size in
        let samples =
            if let latencies = entrant.contender.latencies(size) {
                latencies.map(\.nanoseconds)
            } else {
                try entrant.contender.external(["W7", "\(size)"])
            }
        guard let sorted = samples?.sorted(), !sorted.isEmpty else { return nil }
        return [0.5, 0.99].map { sorted[Int(Double(sorted.count - 1) * $0)] / 1000 }
    }
}
