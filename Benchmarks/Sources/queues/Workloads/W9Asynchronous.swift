extension Workload {
    /// Measured: making and adding operations with an `async` body that yields once, and waiting.
    static let asynchronous = Workload(
        name: "W9", title: "async bodies that yield once", sizes: [100_000]
    ) { entrant, size in
        try entrant.perOperation(size, ["W9", "\(size)"]) { $0.asynchronous(size) }
    }
}
