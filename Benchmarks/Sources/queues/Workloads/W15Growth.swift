extension Workload {
    /// Measured: the named items, from creation to end, for `size` items and for ten times as many.
    /// One item should take about as long among the larger number: at most one and a half times.
    static let growth = Growth.allCases.map { growth in
        Workload(
            name: "W15", variant: growth.rawValue, title: growth.title,
            sizes: [growth.size, 10 * growth.size], isScalable: false,
            metrics: [Metric(key: "ns", title: "ns, each")], maximumRounds: 3
        ) { entrant, size in
            try entrant.perOperation(size, ["W15", "\(size)"]) { $0.grown(growth, size) }
        }
    }
}

/// Items, each of which is found or released among many items of its kind.
enum Growth: String, CaseIterable, Sendable {
    case operationTimeouts
    case queueTimeouts
    case barriers
    case nestedWaits
    case nestedGroups
    case nestedProgress
    case observations
    case unequalKeys

    var title: String {
        switch self {
        case .operationTimeouts: "waits for an operation that time out"
        case .queueTimeouts: "waits for a queue that time out"
        case .barriers: "barriers on a suspended queue, resumed"
        case .nestedWaits: "operations that add another and wait for it"
        case .nestedGroups: "nested groups"
        case .nestedProgress: "nested progress objects, cancelled"
        case .observations: "observations, ended newest first"
        case .unequalKeys: "keys that are unequal to themselves"
        }
    }

    /// The smaller size. A thread blocks in each nested wait, and there are at most 512 threads.
    var size: Int {
        switch self {
        case .operationTimeouts, .queueTimeouts: 4_000
        case .barriers, .nestedProgress, .observations, .unequalKeys: 10_000
        case .nestedWaits: 50
        case .nestedGroups: 1_000
        }
    }
}
