import Operations

/// Decides from occasional samples of a queue whether the queue, or an operation that executes, has
/// stalled.
///
/// The watch reads neither the queue nor a clock: callers pass in what they saw, and when.
struct StallWatch {
    struct Sample {
        /// How many of all operations that the queue ever had have ended.
        var ended: Int
        var isSuspended: Bool
        /// What the queue holds; nil if nobody has looked.
        var pulse: QueuePulse?
    }

    struct Verdict {
        /// For how long nothing has begun, been resumed or ended although something should have, in
        /// nanoseconds; nil if that is nothing to report now.
        var queue: UInt64?
        /// The operations and nodes that have executed for too long, and for how long.
        var operations: [Overdue] = []
    }

    /// An operation, or a node of one, that has executed for too long.
    typealias Overdue = (operation: WorkingIdentity, node: UInt32?, nanoseconds: UInt64)

    private struct ID: Hashable {
        let operation: ObjectIdentifier
        let node: UInt32?
    }

    private struct Working {
        let identity: WorkingIdentity
        let node: UInt32?
        let mark: UInt64
        /// When the operation was first seen with this mark.
        let since: UInt64
        var isReported = false
    }

    private let limit: UInt64
    private let operationLimit: UInt64?
    private var ended: Int?
    /// The time since which the queue has not gone on although it should have.
    private var since: UInt64 = 0
    private var isReported = false
    private var working: [ID: Working] = [:]

    /// - Parameters:
    ///   - limit: for the queue, in nanoseconds.
    ///   - operationLimit: for each operation; nil for none.
    init(limit: UInt64, operationLimit: UInt64?) {
        (self.limit, self.operationLimit) = (limit, operationLimit)
    }

    /// The identities of the operations that executed at the last sample, by address.
    var known: [UInt: WorkingIdentity] {
        Dictionary(
            working.values.map { ($0.identity.address, $0.identity) }, uniquingKeysWith: { $1 })
    }

    /// Returns what has to be reported now.
    mutating func update(with sample: Sample, at now: UInt64) -> Verdict? {
        var goesOn = ended != sample.ended
        ended = sample.ended
        guard let pulse = sample.pulse else {
            if goesOn { restart(at: now) }
            return nil
        }
        if take(pulse.working, at: now) { goesOn = true }
        // What only executes has a limit of its own.
        let isExpected = !sample.isSuspended && (pulse.readyCount > 0 || pulse.waitingCount > 0)
        if goesOn || !isExpected { restart(at: now) }
        var verdict = Verdict()
        if !isReported, now >= since, now - since >= limit {
            isReported = true
            verdict.queue = now - since
        }
        verdict.operations = takeOverdue(at: now)
        return verdict.queue == nil && verdict.operations.isEmpty ? nil : verdict
    }

    private mutating func restart(at now: UInt64) {
        since = now
        isReported = false
    }

    /// Takes over which operations execute. Returns whether one has begun, was resumed or has
    /// returned since the last sample.
    private mutating func take(_ operations: [QueuePulse.Working], at now: UInt64) -> Bool {
        var isChange = operations.count != working.count
        var current: [ID: Working] = [:]
        for operation in operations {
            let id = ID(
                operation: ObjectIdentifier(operation.identity), node: operation.node)
            if let before = working[id], before.mark == operation.mark {
                current[id] = before
            } else {
                isChange = true
                current[id] = Working(
                    identity: operation.identity, node: operation.node, mark: operation.mark,
                    since: now)
            }
        }
        working = current
        return isChange
    }

    /// Returns the operations that have executed for too long and were not reported, the first ones
    /// first. Of a graph whose nodes run, only the nodes are reported.
    private mutating func takeOverdue(at now: UInt64) -> [Overdue] {
        guard let operationLimit else { return [] }
        var overdue: [Working] = []
        let graphs = Set(working.keys.filter { $0.node != nil }.map(\.operation))
        for (id, operation) in working
        where !operation.isReported && now >= operation.since
            && now - operation.since >= operationLimit
        {
            if id.node == nil, graphs.contains(id.operation) { continue }
            working[id]?.isReported = true
            overdue.append(operation)
        }
        return overdue.sorted { ($0.since, $0.identity.address) < ($1.since, $1.identity.address) }
            .map { ($0.identity, $0.node, now - $0.since) }
    }
}
