import Synchronization

extension Operation {
    /// Counts the edge here first, then registers it with the dependency; whichever of the two finds
    /// that the dependency has finished takes the edge back.
    func connect(to dependency: Operation) {
        guard state.withLock({ $0.dependencyAdded(dependency) }) else { return }
        if dependency.state.withLock({ $0.dependentArrived(self) }) {
            reportCycle(through: dependency)
        } else {
            dependencyFinished(dependency)
        }
    }

    func disconnect(from dependency: Operation) {
        let wasLast = state.withLock { $0.dependencyRemoved(dependency) }
        dependency.state.withLock { $0.dependentLeft(self) }
        if wasLast { considerStarting() }
    }

    func dependencyFinished(_ dependency: Operation) {
        let id = ObjectIdentifier(dependency)
        if state.withLock({ $0.dependencyFinished(id) }) { considerStarting() }
    }

    /// Lets go of the dependencies without recursion: the last reference to the end of a long chain
    /// would otherwise release it one stack frame an operation.
    func releaseDependencies() {
        var pending = state.withLock { $0.takeDependencies() }
        while var operation = pending.popLast() {
            guard isKnownUniquelyReferenced(&operation) else { continue }
            pending += operation.state.withLock { $0.takeDependencies() }
        }
    }
}
