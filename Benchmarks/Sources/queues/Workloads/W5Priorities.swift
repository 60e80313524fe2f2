extension Workload {
    /// Measured: making and adding operations of five random priorities to a suspended serial
    /// queue, resuming it, and waiting. The priorities are drawn in advance.
    static let priorities = Workload(
        name: "W5", title: "five random priorities, one at a time", sizes: [100_000]
    ) { entrant, size in
        var random = Random()
        let priorities = (0..<size).map { _ in random.next(below: 5) * 4 - 8 }
        return try entrant.perOperation(size, ["W5", "\(size)"]) { $0.prioritized(priorities) }
    }
}
