extension Workload {
    /// Measured: the growth of a fresh process's resident memory while blocks are added to a queue
    /// that runs none of them. The figure includes closures and the peer's one-time allocations.
    static let memory = Workload(
        name: "W1m", title: "memory of blocks that wait in a queue", sizes: [1_000_000],
        metrics: [.bytes],
        limits: [.go: Limit(size: 100_000, reason: "it takes gigabytes")],
        maximumRounds: 1, warmsUp: false
    ) { entrant, size in
        if let figures = try entrant.contender.external(["W1m", "\(size)"]) { return figures }
        let text = try Child.run(Child.ownPath, ["memory", entrant.peer.rawValue, "\(size)"])
        return Double(text.split(whereSeparator: \.isWhitespace).joined()).map { [$0] }
    }
}
