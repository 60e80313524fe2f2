extension Workload {
    /// One operation, then all others but one, then that one. Measured as W2.
    static let fans = [
        graph("W3", "1 → N → 1", sizes: [10_000, 100_000], make: Graph.fan)
    ]
}
