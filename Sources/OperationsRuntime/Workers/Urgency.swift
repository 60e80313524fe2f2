/// How urgently the pool runs a work item, derived from the quality of service. An urgent item does
/// not wait for workers that run less urgent items.
@usableFromInline
package enum Urgency: Int, Comparable, CaseIterable, Sendable {
    case background, utility, usual, interactive
    /// What is left to do after the end of operations (``Epilogue``), and the end of operations
    /// that were cancelled before they began. It must not wait for other operations.
    case epilogue
    /// Timers that are due. A timer action is short and must not wait for operations, not even for
    /// the most urgent ones.
    case timer

    /// - Parameter rank: The rank of a quality of service.
    @inlinable
    package init(rank: Int) {
        switch rank {
        case 1: self = .background
        case 2: self = .utility
        case 4: self = .interactive
        default: self = .usual
        }
    }

    /// The urgency of a job, as far as priorities matter in this process.
    package init(of job: UnownedJob) {
        self = QualityOfServiceUse.isOn ? Urgency(job.priority) : .usual
    }

    init(_ priority: JobPriority) {
        switch priority.rawValue {
        case 1...9: self = .background
        case 10...17: self = .utility
        case 26...: self = .interactive
        default: self = .usual
        }
    }

    /// All urgencies in falling order.
    static var fromMostUrgent: FallingUrgencies { FallingUrgencies() }

    @inlinable
    package static func < (a: Urgency, b: Urgency) -> Bool { a.rawValue < b.rawValue }

    /// The urgency that names the class of workers for items of this urgency. The usual workers
    /// also run timers and epilogues.
    var workerClass: Urgency { self >= .epilogue ? .usual : self }

    /// The niceness of the class's threads relative to that of the process.
    var nicenessOffset: Int32 {
        switch self {
        case .background: 10
        case .utility: 5
        case .usual, .epilogue, .timer: 0
        case .interactive: -5
        }
    }
}

/// All urgencies in falling order. `allCases.reversed()` would make an array each time.
struct FallingUrgencies: Sequence, IteratorProtocol {
    private var previous = Urgency.timer.rawValue + 1

    @inline(__always)
    mutating func next() -> Urgency? {
        previous -= 1
        return Urgency(rawValue: previous)
    }
}

/// The set of urgencies at which a queue has been submitted to the pool, each at most once.
@usableFromInline
package struct OfferedUrgencies {
    @usableFromInline var bits: UInt8 = 0

    @inlinable package init() {}

    @inlinable package var isEmpty: Bool { bits == 0 }
    @inlinable package var count: Int { bits.nonzeroBitCount }

    /// Whether all are urgencies that occur without qualities of service.
    package var areUsual: Bool {
        bits & ~(1 << Urgency.usual.rawValue | 1 << Urgency.epilogue.rawValue) == 0
    }

    /// Inserts an urgency. Returns false if the set already contains that urgency or a higher one.
    @inlinable
    @inline(__always)
    package mutating func insert(_ urgency: Urgency) -> Bool {
        guard bits >> urgency.rawValue == 0 else { return false }
        bits |= 1 << urgency.rawValue
        return true
    }

    @inlinable
    @inline(__always)
    package mutating func remove(_ urgency: Urgency) { bits &= ~(1 << urgency.rawValue) }
}
