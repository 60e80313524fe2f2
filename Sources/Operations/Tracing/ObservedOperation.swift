import Synchronization

// What observers of a queue may read of an operation. The functions that modules beside the core
// may call are `package`.

extension Operation {
    /// The operation's address, which tells it from all operations that exist at the same time.
    package final var identity: UInt { UInt(bitPattern: ObjectIdentifier(self)) }

    /// The operation's name in pictures: its name, the place that made it, or its class.
    package final var displayName: String {
        if let nameOrPlace { return nameOrPlace }
        return status.has(.barrier) ? "barrier" : "\(type(of: self))"
    }

    /// Whether the operation surely has no name and no dependencies; known without a lock.
    package final var isPlain: Bool {
        !status.has(.hasDependencies) && hasNoName
    }

    /// Whether the operation is of a class that does not override `name`, and has none.
    private var hasNoName: Bool { status.has(.fastPath) && extras.load(ordering: .relaxed) == nil }

    /// The operation's name.
    package final var nameIfAny: String? { hasNoName ? nil : name }

    /// Whether the work may go on after the thread that began it has left it.
    package final var mayLeaveItsThread: Bool { !runsOnItsThread || isAsynchronous }

    /// When the operation began, and its priority; nil unless it runs in a claim and its start was
    /// recorded.
    package final var startInClaim: (time: UInt64, lane: Int)? {
        let (state, mark) = (status, lastMark)
        guard state.phase == .executing, state.has(.fastPath), !state.has(.claimedAlone),
            mark.kind == .started, !mark.isNothing
        else { return nil }
        return (mark.time, state.lane)
    }

    /// Calls `body` with the identity of each dependency; only for comparisons. The operation has
    /// begun: its dependencies have finished, and it retains them until it has finished.
    package final func forEachDependencyIdentity(_ body: (UInt) -> Void) {
        guard status.has(.hasDependencies) else { return }
        withLock {
            guard let edges = edges.load(ordering: .relaxed) else { return }
            Edges.forEach(edges) { edge in
                guard let dependency = edge.dependency else { return }
                body(UInt(bitPattern: dependency.toOpaque()))
            }
        }
    }
}
