extension Workload {
    /// One operation, then N operations that depend on it, then one that depends on all N. Measured
    /// as W2.
    static let fans = [
        graph("W3", "1 → N → 1", sizes: [10_000, 100_000], make: Graph.fan)
    ]
}
