import Synchronization

extension Operation {
    /// Reports the cycle that the new edge `self` → `dependency` closes, if it does.
    ///
    /// Nothing can lead back to an operation that nobody depends on, which is how most graphs are
    /// built; only otherwise are the unfinished operations behind `dependency` searched.
    ///
    /// - Complexity: O(1), or O(edges behind `dependency`) if `self` has dependents.
    func reportCycle(through dependency: Operation) {
        guard
            state.withLock({ !$0.dependents.isEmpty && !$0.isCancelled && $0.phase != .finished }),
            dependency.state.withLock({ !$0.isCancelled })
        else { return }
        guard let path = path(from: dependency) else { return }
        let names = ([self] + path).map(\.label)
        OperationsDiagnostics.handler(.dependencyCycle(names))
    }

    /// The way from `start` along dependencies to `self`, both included; depth first, without recursion.
    private func path(from start: Operation) -> [Operation]? {
        var visited: Set<ObjectIdentifier> = [ObjectIdentifier(start)]
        var path = [(operation: start, rest: start.dependencies[...])]
        while let last = path.indices.last {
            guard let next = path[last].rest.popFirst() else {
                path.removeLast()
                continue
            }
            if next === self { return path.map(\.operation) + [self] }
            guard visited.insert(ObjectIdentifier(next)).inserted else { continue }
            // A cancelled operation waits for nothing, so no cycle holds at it.
            guard next.state.withLock({ $0.phase != .finished && !$0.isCancelled }) else {
                continue
            }
            path.append((next, next.dependencies[...]))
        }
        return nil
    }
}
