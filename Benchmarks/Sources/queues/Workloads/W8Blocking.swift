extension Workload {
    /// Measured: from making the operations to the end of the wait. The operations sleep and use no
    /// processor time, so the figure depends on the number of threads that the peer provides. One
    /// round is enough.
    static let blocking = [
        Workload(
            name: "W8", variant: "one operation", title: "blocks of 2 s, all in one operation",
            sizes: [7], isScalable: false, metrics: [.seconds], maximumRounds: 1, warmsUp: false
        ) { entrant, size in
            entrant.contender.blockingInOne(size, milliseconds: 2_000).map { [$0.seconds] }
        },
        Workload(
            name: "W8", variant: "operations", title: "operations that block for 100 ms each",
            sizes: [200], isScalable: false, metrics: [.seconds], maximumRounds: 1, warmsUp: false
        ) { entrant, size in
            if let duration = entrant.contender.blocking(size, milliseconds: 100) {
                return [duration.seconds]
            }
            return try entrant.contender.external(["W8", "\(size)", "100"])?.map { $0 / 1e9 }
        },
    ]
}
