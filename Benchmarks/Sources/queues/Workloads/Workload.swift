/// Something to measure, and how.
struct Workload: Sendable {
    /// The name in tables and for `--only`.
    let name: String
    /// What tells several workloads of one name apart.
    var variant: String?
    let title: String
    /// How many operations; each is measured on its own.
    var sizes: [Int]
    /// Whether `--n` means anything here.
    var isScalable = true
    var metrics: [Metric] = [.nanoseconds]
    /// Who cannot be measured at any size.
    var limits: [Peer: Limit] = [:]
    /// More rounds than that would take long and tell nothing new.
    var maximumRounds = Int.max
    /// Whether each peer runs once, smaller and unmeasured, so that its threads exist.
    var warmsUp = true
    /// One figure for each metric; nil if the peer has nothing for this.
    let measure: @Sendable (Entrant, Int) throws -> [Double]?

    /// The largest size for a peer.
    struct Limit: Sendable {
        let size: Int
        let reason: String
    }

    /// What a figure means.
    struct Metric: Sendable {
        /// The name in JSON; ends with the unit.
        let key: String
        /// The name for people.
        let title: String

        static let nanoseconds = Metric(key: "ns", title: "ns an operation")
        static let bytes = Metric(key: "bytes", title: "bytes an operation")
        static let seconds = Metric(key: "s", title: "seconds in all")
    }

    /// A peer that takes part.
    struct Entrant: Sendable {
        let peer: Peer
        let contender: any Contender

        /// Nanoseconds an operation, in this process or by a program of its own.
        func perOperation(
            _ size: Int, _ external: [String], _ body: (any Contender) -> Duration?
        ) throws -> [Double]? {
            if let duration = body(contender) { return [duration.nanoseconds / Double(size)] }
            return try contender.external(external).map { [$0[0] / Double(size)] }
        }
    }

    /// All, in the order in which they run.
    static let all =
        [independent, memory] + chains + fans + layers + wavefronts
        + [priorities, cancellation, latency] + blocking + [asynchronous] + producers + [changes]
        + resultChains + insight + linking + growth
}

extension Workload.Limit {
    /// Foundation's time for a graph grows with the square of its size.
    static func quadratic(_ size: Int) -> Self { Self(size: size, reason: "its time is quadratic") }
}
