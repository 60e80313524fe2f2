import OperationsRuntime
import Synchronization

/// Finds operations that depend on each other. Cycles.md describes who searches, and when.
///
/// A cycle is given as a list: each operation waits for the next one, and the first is repeated at
/// the end.
enum CycleSearch {
    /// Returns the cycle that an edge closes which is linked already; nil if there is none, also if
    /// another thread has removed the edge meanwhile.
    ///
    /// - Complexity: O(edges of what the dependency waits for).
    static func cycle(through dependency: Operation, before dependent: Operation) -> [Operation]? {
        while let path = path(from: dependency, to: dependent) {
            let cycle = [dependent] + path
            if stands(cycle) { return cycle }
            guard dependent.withLock(and: dependency, { dependent.isLinked(to: dependency) }) else {
                return nil
            }
        }
        return nil
    }

    private static func path(from first: Operation, to last: Operation) -> [Operation]? {
        var walk = DepthFirstWalk(from: [first]) { ObjectIdentifier($0) }
        while let step = walk.next() {
            guard case .entered(let operation) = step else { continue }
            if operation === last { return walk.path }
            walk.follow(operation.awaitedDependencies)
        }
        return nil
    }

    /// The most operations that one alternative is followed through.
    private static let alternativeLimit = 1_000

    /// Whether each of the alternatives, of which the operation needs one, waits for the operation.
    /// A search that would take long has the answer false.
    fileprivate static func areStuck(_ alternatives: [Operation], before last: Operation) -> Bool {
        alternatives.count <= 16
            && alternatives.allSatisfy { alternative in
                var rest = alternativeLimit
                var walk = DepthFirstWalk(from: [alternative]) { ObjectIdentifier($0) }
                while rest > 0, let step = walk.next() {
                    guard case .entered(let operation) = step else { continue }
                    if operation === last { return true }
                    walk.follow(operation.dependenciesInNeed)
                    rest -= 1
                }
                return false
            }
    }

    /// Whether each of the operations depends on the next one, all at one moment.
    ///
    /// - Parameter others: the places of operations that wait for the next one in another way.
    static func stands(_ cycle: [Operation], besides others: Set<Int> = []) -> Bool {
        // Two operations are always locked in the order of their addresses.
        let members = cycle.dropLast().sorted { $0.opaque < $1.opaque }
        for member in members { member.lifecycle.lock() }
        defer {
            for member in members { member.lifecycle.unlock() }
        }
        return zip(cycle, cycle.dropFirst()).enumerated().allSatisfy { place, pair in
            others.contains(place) || pair.0.isLinked(to: pair.1)
        }
    }
}

extension LifecycleState {
    /// Whether the operation's dependents have to wait for it, and the operation for its own
    /// dependencies. Once false, the value stays false.
    fileprivate var holdsOthersBack: Bool { phase != .finished && !has(.cancelled) }

    /// Whether the operation waits for dependencies.
    fileprivate var waits: Bool {
        holdsOthersBack && unfinishedDependencies > 0 && !has(.forced)
    }
}

extension Operation {
    /// The dependencies for which the operation waits.
    ///
    /// An operation that needs one of several waits for none of them in particular, unless all of
    /// them wait for it: any of the others may let it go on.
    fileprivate var awaitedDependencies: [Operation] {
        let all = unfinishedDependencies
        guard all.count > 1, needsOneDependency else { return all }
        return CycleSearch.areStuck(all, before: self) ? all : []
    }

    /// The dependencies without each of which the operation cannot go on.
    fileprivate var dependenciesInNeed: [Operation] {
        let all = unfinishedDependencies
        return all.count > 1 && needsOneDependency ? [] : all
    }

    private var unfinishedDependencies: [Operation] {
        guard status.waits else { return [] }
        var awaited: [Operation] = []
        withLock {
            guard let edges = edges.load(ordering: .relaxed) else { return }
            Edges.forEach(edges) { edge in
                guard let dependency = edge.dependency,
                    dependency._withUnsafeGuaranteedRef({ $0.status.holdsOthersBack })
                else { return }
                awaited.append(dependency.takeUnretainedValue())
            }
        }
        return awaited
    }

    /// Whether the operation waits for another one. The locks of both are held.
    fileprivate func isLinked(to dependency: Operation) -> Bool {
        guard status.waits, let edges = edges.load(ordering: .relaxed) else { return false }
        var isFound = false
        Edges.forEach(edges) { edge in
            if edge.pointee.dependencyAddress == dependency.opaque, edge.pointee.isLinked {
                isFound = true
            }
        }
        return isFound
    }
}
