/// A workload: what to measure, and how.
struct Workload: Sendable {
    /// The name in tables and for `--only`.
    let name: String
    /// Distinguishes workloads that share a name.
    var variant: String?
    let title: String
    /// The numbers of operations; each size is measured separately.
    var sizes: [Int]
    /// Whether `--n` applies to this workload.
    var isScalable = true
    var metrics: [Metric] = [.nanoseconds]
    /// The peers that cannot be measured at every size.
    var limits: [Peer: Limit] = [:]
    /// The maximum number of rounds; more would take long without new information.
    var maximumRounds = Int.max
    /// Whether each peer first runs once, smaller and unmeasured, so that its threads exist.
    var warmsUp = true
    /// Returns one figure for each metric; nil if the peer does not support this workload.
    let measure: @Sendable (Entrant, Int) throws -> [Double]?

    /// The largest size for a peer.
    struct Limit: Sendable {
        let size: Int
        let reason: String
    }

    /// The meaning of a figure.
    struct Metric: Sendable {
        /// The name in JSON; ends with the unit.
        let key: String
        /// The name for display.
        let title: String

        static let nanoseconds = Metric(key: "ns", title: "ns an operation")
        static let bytes = Metric(key: "bytes", title: "bytes an operation")
        static let seconds = Metric(key: "s", title: "seconds in all")
    }

    /// A peer that takes part.
    struct Entrant: Sendable {
        let peer: Peer
        let contender: any Contender

        /// The nanoseconds per operation, measured in this process or by an external program.
        ///
        /// Other peers have used the threads and caches of the machine before. So the second of two
        /// runs counts, here and in the external programs. A run that takes long warms itself.
        func perOperation(
            _ size: Int, _ external: [String], _ body: (any Contender) -> Duration?
        ) throws -> [Double]? {
            if let first = body(contender) {
                let duration = first < .milliseconds(250) ? body(contender) ?? first : first
                return [duration.nanoseconds / Double(size)]
            }
            return try contender.external(external).map { [$0[0] / Double(size)] }
        }
    }

    /// All workloads, in the order in which they run.
    static let all =
        [independent, closures, mixed, inOrder, memory] + chains + fans + layers + wavefronts
        + [priorities, cancellation, latency] + blocking + asynchronous + producers + [changes]
        + resultChains + insight + linking + growth + [manyQueues] + graphsOfBlocks + executors
}

extension Workload.Limit {
    /// Foundation's time for a graph grows with the square of its size.
    static func quadratic(_ size: Int) -> Self { Self(size: size, reason: "its time is quadratic") }
}
