/// How soon the pool runs something, by its quality of service: what is more urgent does not wait for workers
/// that run what is less.
enum Urgency: Int, Comparable, CaseIterable {
    case background, utility, usual, interactive

    /// - Parameter rank: of a quality of service.
    init(rank: Int) {
        switch rank {
        case 1: self = .background
        case 2: self = .utility
        case 4: self = .interactive
        default: self = .usual
        }
    }

    init(_ priority: JobPriority) {
        switch priority.rawValue {
        case 1...9: self = .background
        case 10...17: self = .utility
        case 26...: self = .interactive
        default: self = .usual
        }
    }

    static func < (a: Urgency, b: Urgency) -> Bool { a.rawValue < b.rawValue }
}
