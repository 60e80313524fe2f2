import OperationsRuntime
import Synchronization

/// Looks for cycles of dependencies, from the operations that wait in queues, some time after a
/// cycle may have been closed. Cycles.md describes the protocol.
enum CycleWatch {
    /// An operation was linked, or has entered a queue, so that there may be a cycle. The lock of
    /// the operation, or of the queue, has been held and is free again.
    static func suspect() {
        if suspicion.raise() { schedule() }
    }

    /// An edge was linked that may close a cycle.
    static func suspect(_ dependency: Operation, before dependent: Operation) {
        if checksEachEdge,
            let cycle = CycleSearch.cycle(through: dependency, before: dependent),
            reportedCycles().members.isDisjoint(with: [cycle].members)
        {
            report(cycle)
        }
        // When a cycle is broken, another one may show.
        suspect()
    }

    /// Whether a suspicious edge is searched at once.
    private static let checksEachEdge = environmentVariable("OPERATIONS_CHECK_CYCLES") == "1"

    private static let suspicion = Suspicion()

    // MARK: Times

    private static let firstDelay = Duration.milliseconds(100)
    private static let pause = Duration.seconds(1)
    /// The share of the time in which the watch looks is at most one part of this.
    private static let timesOfPause = 20
    private static let firstLimit = 10_000

    /// Schedules the next look, as ``Suspicion`` has asked for.
    private static func schedule() {
        let wait = max(firstDelay, memory.withLock { $0.nextLook } - TimeSource.continuous.now())
        _ = TimeSource.continuous.schedule(after: wait) { look() }
    }

    // MARK: Looks

    private static func look() {
        suspicion.lookBegins()
        let start = TimeSource.continuous.now()
        let limit = memory.withLock { $0.limit }
        // The reported cycles are kept alive, so that no other operation has a member's address.
        let known = reportedCycles()
        let found = waitingOperations(atMost: limit)
        let findings = CycleSearch.cycles(
            from: found.operations, limit: limit, besides: known.members)
        withExtendedLifetime(known) {}
        for cycle in findings.cycles { report(cycle) }

        let end = TimeSource.continuous.now()
        let isTruncated = found.areMore || !findings.isComplete
        let isOver = memory.withLock { memory in
            // The second look in a row only needs to see whether the queues have moved.
            let rest = memory.oldest.isEmpty ? firstDelay : pause
            memory.nextLook = end + max(rest, (end - start) * timesOfPause)
            memory.limit = isTruncated ? min(4 * limit, .max / 8) : firstLimit
            let isOver = !isTruncated && !found.haveMoved && memory.reported.isEmpty
            memory.oldest = isOver ? [:] : found.oldest
            return isOver
        }
        if suspicion.lookEnds(isOver: isOver) { schedule() }
    }

    private struct Waiting {
        /// Operations that wait for dependencies, the oldest of each queue first.
        var operations: [Operation] = []
        /// Whether there are more in the queues that have not moved.
        var areMore = false
        /// Whether there are queues that have moved since the last look.
        var haveMoved = false
        /// The identity of the oldest entry of each queue.
        var oldest: [ObjectIdentifier: UInt] = [:]
    }

    /// Returns operations that wait in the queues whose oldest operation is the same as at the last
    /// look. In the others, work goes on; what stands still there will be the oldest one day.
    private static func waitingOperations(atMost limit: Int) -> Waiting {
        let earlier = memory.withLock { $0.oldest }
        var found = Waiting()
        var places = limit
        for (queue, _) in QueueRegistry.unfinished {
            let id = ObjectIdentifier(queue)
            let (oldest, waiting, visited) = queue.snapshot { state in
                let oldest = state.ring[state.ring.head]?.identity
                let hasMoved = earlier[id] != oldest
                let found = state.operations(inFirst: hasMoved ? 0 : places) {
                    $0.unfinishedDependencies > 0 && $0.phase != .finished
                }
                return (oldest, found.operations, found.visited)
            }
            guard let oldest else { continue }
            found.oldest[id] = oldest
            if earlier[id] != oldest {
                found.haveMoved = true
                continue
            }
            found.operations += waiting
            places -= visited
            if places <= 0 { found.areMore = true }
        }
        return found
    }

    // MARK: Reports

    private struct Member {
        weak var operation: Operation?
    }

    /// A cycle that was reported and may still stand.
    private struct ReportedCycle {
        let number: Int
        let members: [Member]
    }

    /// What the watch keeps from one look to the next. The lock is never held where an operation
    /// may be released.
    ///
    /// Unchecked: the addresses are only compared.
    private struct Memory: @unchecked Sendable {
        var reported: [ReportedCycle] = []
        var lastNumber = 0
        var nextLook = Duration.zero
        var limit = firstLimit
        /// The address of the oldest operation of each queue at the last look. Its place may change
        /// while it waits.
        var oldest: [ObjectIdentifier: UInt] = [:]
    }

    private static let memory = Locked(Memory())

    /// Forgets the reported cycles that were broken, and returns the others.
    private static func reportedCycles() -> [[Operation]] {
        var reported: [[Operation]] = []
        var broken: Set<Int> = []
        for cycle in memory.withLock({ $0.reported }) {
            let operations = cycle.members.compactMap(\.operation)
            if operations.count == cycle.members.count, CycleSearch.stands(operations) {
                reported.append(operations)
            } else {
                broken.insert(cycle.number)
            }
        }
        memory.withLock { $0.reported.removeAll { broken.contains($0.number) } }
        return reported
    }

    /// Reports a cycle that has no member in common with a reported one.
    private static func report(_ cycle: [Operation]) {
        memory.withLock { memory in
            memory.lastNumber += 1
            memory.reported.append(
                ReportedCycle(
                    number: memory.lastNumber, members: cycle.map { Member(operation: $0) }))
        }
        OperationsDiagnostics.handler(.dependencyCycle(cycle.map(\.label)))
    }
}

extension [[Operation]] {
    fileprivate var members: Set<ObjectIdentifier> { Set(joined().map { ObjectIdentifier($0) }) }
}
