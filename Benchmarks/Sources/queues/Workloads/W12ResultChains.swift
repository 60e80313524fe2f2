extension Workload {
    /// Measured: making the pieces of work, each of which takes the result of the previous one, and
    /// waiting for the last result.
    static let resultChains = [
        Workload(
            name: "W12", variant: "functions", title: "chain of results, functions",
            sizes: [10_000, 100_000]
        ) { entrant, size in
            try entrant.perOperation(size, ["W12", "\(size)"]) { $0.typedChain(size) }
        },
        Workload(
            name: "W12", variant: "async", title: "chain of results, async functions",
            sizes: [10_000, 100_000]
        ) { entrant, size in
            try entrant.perOperation(size, ["W12a", "\(size)"]) { $0.asyncChain(size) }
        },
    ]
}
