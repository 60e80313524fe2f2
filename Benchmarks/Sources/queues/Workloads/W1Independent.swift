extension Workload {
    /// Measured: making and adding the operations, one call each, and waiting until all have ended.
    static let independent = Workload(
        name: "W1", title: "independent blocks, added one by one", sizes: [100_000]
    ) { entrant, size in
        try entrant.perOperation(size, ["W1", "\(size)"]) { $0.independent(size) }
    }

    /// Measured: the same, without making an operation for each block.
    static let closures = Workload(
        name: "W1", title: "the same by addOperation { }", sizes: [100_000, 1_000_000]
    ) { entrant, size in
        try entrant.perOperation(size, ["W1", "\(size)"]) { $0.closures(size) }
    }

    /// Measured: the same, with an operation in place of each thousandth block.
    static let mixed = Workload(
        name: "W1", title: "the same, an operation among each thousand", sizes: [1_000_000]
    ) { entrant, size in
        guard let duration = entrant.contender.mixed(size) else { return nil }
        return [duration.nanoseconds / Double(size)]
    }

    /// Measured: the same; oneTBB runs the work in the order of its addition, as a queue does.
    static let inOrder = Workload(
        name: "W1", title: "the same in the order of addition", sizes: [100_000]
    ) { entrant, size in
        try entrant.perOperation(size, ["W1-fifo", "\(size)"]) { $0.closures(size) }
    }
}
