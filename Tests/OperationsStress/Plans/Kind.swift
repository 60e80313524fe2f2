/// What a plan may mix. Each kind can be left out, so that one fault does not hide another one.
enum Kind: String, Codable, CaseIterable, Sendable {
    // Work.
    case blocks, operations, subclasses, starters, bodies, graphs, pieces, barriers, groups
    case dependencies, keys, rates, budgets, times, shares, capacities, nested, temporaries, scopes
    case retries, timeouts, repeats, waitingCapacities, ownReadiness, shutDowns
    // Settings; `serial` is for queues of width 1.
    case serial, priorities, qualities, orders, overflow, suspension, widths, dispatch
    // Disturbances.
    case cancels, observers, idles, questions, watches
    // Waits.
    case threadWaits, taskWaits, operationWaits

    /// In how many of a hundred plans the kind occurs. Plans that mix little find what a plan that
    /// mixes everything cannot: most features take a queue from its fast paths.
    var share: Int {
        switch self {
        case .blocks: 85
        case .bodies: 60
        case .threadWaits, .taskWaits, .serial: 50
        case .operations, .graphs: 40
        case .cancels, .watches, .priorities, .qualities: 30
        case .suspension, .operationWaits: 25
        default: 12
        }
    }

    /// Whether a step of the kind adds work to its queue.
    var addsWork: Bool {
        switch self {
        case .blocks, .operations, .subclasses, .starters, .bodies, .graphs, .pieces, .barriers,
            .groups, .dependencies, .keys, .rates, .budgets, .times, .shares, .capacities, .nested,
            .temporaries, .scopes, .retries, .timeouts, .repeats, .waitingCapacities,
            .ownReadiness, .shutDowns:
            true
        default: false
        }
    }

    /// Whether a step of the kind waits in the thread that performs it.
    var blocks: Bool { self == .threadWaits || self == .operationWaits }

    /// Whether the kind only sets how a queue is made, and is no step.
    var isSetting: Bool { self == .dispatch || self == .serial }

    /// The kinds after whose first use the whole process works differently, for good.
    static let lasting: Set<Kind> = [.qualities, .pieces]
}
