extension Workload {
    /// Layers of 1,000, each operation with four random dependencies in the previous layer.
    /// Measured as W2.
    static let layers = [
        graph(
            "W4", "layers of 1,000, 4 dependencies each", variant: "layered",
            external: "W4-layered", sizes: [10_000, 100_000], make: Graph.layered)
    ]
}
