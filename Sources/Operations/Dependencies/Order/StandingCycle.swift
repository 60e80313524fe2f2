import Synchronization

/// A cycle that was reported and stays until it is broken.
///
/// Only reports depend on this object: the edge that closed the cycle may close another cycle too,
/// which has not been reported. The thread that breaks the cycle looks for such a cycle. Each
/// member keeps the cycle in its extras, so the cycle costs other operations nothing.
final class StandingCycle: CycleWatcher {
    private struct Member {
        weak let operation: Operation?
    }

    private let members: [Member]
    private let isOver = Atomic<Bool>(false)

    /// - Parameter cycle: the dependent and the dependency of the edge that closed the cycle, the
    ///   other members, and the dependent again.
    private init(_ cycle: [Operation]) {
        members = cycle.map { Member(operation: $0) }
    }

    static func report(_ cycle: [Operation]) {
        let standing = StandingCycle(cycle)
        let isNew = standing.enter(cycle)
        OperationsDiagnostics.handler(.dependencyCycle(cycle.map(\.label)))
        // The cycle may have been broken before all members knew of it.
        if isNew { standing.recheck() }
    }

    /// Registers the cycle with its members. Returns false if the same edge is already known to
    /// close a standing cycle.
    private func enter(_ cycle: [Operation]) -> Bool {
        let isNew = cycle[0].withExtras { extras in
            if extras.standingCycles.contains(where: { other in
                (other as? StandingCycle)?.isClosed(between: cycle[0], cycle[1]) == true
            }) {
                return false
            }
            extras.standingCycles.append(self)
            return true
        }
        guard isNew else { return false }
        for member in cycle.dropFirst().dropLast() {
            member.withExtras { $0.standingCycles.append(self) }
        }
        for member in cycle.dropLast() {
            member.lifecycle.insert([.hasCancelHandlers, .hasEndObservers])
        }
        return true
    }

    private func isClosed(between dependent: Operation, _ dependency: Operation) -> Bool {
        members[0].operation === dependent && members[1].operation === dependency
    }

    /// Checks whether the cycle still stands, after a member has been cancelled, has finished or
    /// has lost a dependency. No lock is held.
    func recheck() {
        let operations = members.compactMap(\.operation)
        let areAllThere = operations.count == members.count
        if areAllThere, Self.stands(operations) { return }
        guard !isOver.exchange(true, ordering: .acquiringAndReleasing) else { return }
        for operation in operations {
            operation.withExtras { extras in extras.standingCycles.removeAll { $0 === self } }
        }
        guard areAllThere,
            let next = TopologicalOrder.cycle(through: operations[1], before: operations[0])
        else { return }
        Self.report(next)
    }

    /// Whether each of the operations waits for the next.
    private static func stands(_ operations: [Operation]) -> Bool {
        zip(operations, operations.dropFirst()).allSatisfy { dependent, dependency in
            dependent.status.holdsOthersBack
                && dependent.listedDependencies.contains { $0 === dependency }
        }
    }
}
