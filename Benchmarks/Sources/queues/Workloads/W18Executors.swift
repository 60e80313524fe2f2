/// A change of executors, there and back, by one task that does nothing else.
enum Hop: String, CaseIterable, Sendable {
    /// To a queue, as to an executor of tasks; for Swift, from one actor to another.
    case queue
    /// To an actor that may block; for Swift, to an actor.
    case actor
    /// A function that may block; for Dispatch, on a global queue with a continuation.
    case blocking

    var title: String {
        switch self {
        case .queue: "a task goes to a queue, and back"
        case .actor: "a task calls an actor"
        case .blocking: "a task calls a function that may block"
        }
    }
}

extension Workload {
    /// Measured: one task that goes so many times, one after the other.
    static let executors = Hop.allCases.map { hop in
        Workload(name: "W18", variant: hop.rawValue, title: hop.title, sizes: [100_000]) {
            entrant, size in
            try entrant.perOperation(size, ["W18", "\(size)"]) { $0.hops(hop, size) }
        }
    }
}
