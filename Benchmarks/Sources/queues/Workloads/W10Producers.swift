extension Workload {
    /// Measured: from releasing all producers until the queue is empty. The producers are existing
    /// threads (in Go, goroutines) and add equal shares to one queue, one operation at a time.
    static let producers = [1, 2, 4, 8].map { producers in
        Workload(
            name: "W10", variant: producers == 1 ? "1 producer" : "\(producers) producers",
            title: producers == 1 ? "added by one thread" : "added by \(producers) threads at once",
            sizes: [100_000]
        ) { entrant, size in
            try entrant.perOperation(size, ["W10", "\(size)", "\(producers)"]) {
                $0.produced(size, by: producers)
            }
        }
    }
}
