import OperationsRuntime

// The looks of the watch, which follow what operations wait for.

extension CycleWatch {
    private static let secondDelay = Duration.milliseconds(100)
    private static let pause = Duration.seconds(1)
    /// The share of the time in which the watch looks is at most one part of this.
    private static let timesOfPause = 20
    private static let firstLimit = 10_000

    /// Searches an edge that was linked, and reports the cycle of dependencies that it closes.
    static func checkEdge(_ dependency: Operation, before dependent: Operation) {
        if let cycle = CycleSearch.cycle(through: dependency, before: dependent),
            reportedCycles().members.isDisjoint(with: [cycle].members)
        {
            report(cycle)
        }
    }

    // MARK: Looks

    static func look() {
        suspicion.lookBegins()
        let start = TimeSource.continuous.now()
        let limit = memory.withLock { $0.limit }
        // The reported cycles are kept alive, so that no other operation has a member's address.
        let known = reportedCycles()
        let found = waitingOperations(atMost: limit)
        let findings = CircleSearch.circles(
            from: found.operations, limit: limit, besides: known.members)
        withExtendedLifetime(known) {}
        for circle in findings.circles { report(circle) }

        let end = TimeSource.continuous.now()
        let isTruncated = found.areMore || !findings.isComplete
        // The second look in a row only needs to see whether the queues have moved.
        let rest = memory.withLock { $0.oldest.isEmpty } ? secondDelay : pause
        nextLook.replace(with: end + max(rest, (end - start) * timesOfPause))
        let isOver = memory.withLock { memory in
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
            if operations.count == cycle.members.count, CircleSearch.stands(operations) {
                reported.append(operations)
            } else {
                broken.insert(cycle.number)
            }
        }
        memory.withLock { $0.reported.removeAll { broken.contains($0.number) } }
        return reported
    }

    /// Reports a circle that has no member in common with a reported one.
    private static func report(_ circle: [Operation]) {
        memory.withLock { memory in
            memory.lastNumber += 1
            memory.reported.append(
                ReportedCycle(
                    number: memory.lastNumber, members: circle.map { Member(operation: $0) }))
        }
        OperationsDiagnostics.handler(CircleSearch.finding(about: circle))
    }
}

extension [[Operation]] {
    fileprivate var members: Set<ObjectIdentifier> { Set(joined().map { ObjectIdentifier($0) }) }
}
