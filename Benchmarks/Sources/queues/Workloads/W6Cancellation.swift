extension Workload {
    /// Measured: making and adding operations to a suspended queue, cancelling all, resuming, and
    /// waiting. Task groups cannot be suspended, so some of their tasks run before the
    /// cancellation.
    static let cancellation = Workload(
        name: "W6", title: "queued, all cancelled, drained", sizes: [100_000]
    ) { entrant, size in
        try entrant.perOperation(size, ["W6", "\(size)"]) { $0.cancelled(size) }
    }
}
