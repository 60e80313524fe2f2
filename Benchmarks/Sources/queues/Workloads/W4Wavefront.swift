extension Workload {
    /// A square of 128 or 512 operations per side. Each operation depends on the operations above
    /// and to the left. Measured as W2.
    static let wavefronts = [
        graph(
            "W4", "wavefront", variant: "wavefront", external: "W4-wavefront",
            sizes: [128 * 128, 512 * 512], make: Graph.wavefront)
    ]
}
