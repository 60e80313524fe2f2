import Synchronization

extension Operation {
    /// The edges, made if need be. The lock is held.
    @inline(__always)
    private func lockedEdges() -> Edges.Pointer {
        if let edges = edges.load(ordering: .relaxed) { return edges }
        let new = Edges.allocate(for: self)
        edges.store(new, ordering: .relaxed)
        return new
    }

    // MARK: Adding and removing

    /// Makes the operation wait for `dependency`.
    func connect(to dependency: Operation) {
        let change = withLock(and: dependency) { () -> Change? in
            let edge = Edges.add(to: lockedEdges())
            edge.pointee.dependency = .passRetained(dependency)
            // One that has finished has nothing to wait for, and is not held back.
            guard status.phase != .finished, dependency.status.phase != .finished else {
                update { word in
                    word.insert(.hasDependencies)
                    return true
                }
                return nil
            }
            Edges.link(edge, into: dependency.lockedEdges())
            dependency.update { word in
                word.insert(.hasSuccessors)
                return true
            }
            return update { $0.dependencyAdded() }
        }
        if let change, change.before.phase == .filed { unfile() }
    }

    /// Takes every edge to `dependency` away; false if there was none.
    @discardableResult
    func disconnect(from dependency: Operation) -> Bool {
        var removed = 0
        var becameReady: Change?
        withLock(and: dependency) {
            guard let edges = edges.load(ordering: .relaxed) else { return }
            Edges.forEach(edges) { edge in
                guard
                    edge.pointee.dependency?.toOpaque()
                        == Unmanaged.passUnretained(dependency).toOpaque()
                else { return }
                if edge.pointee.isLinked {
                    Edges.unlink(edge)
                    becameReady = update { $0.dependencyFinished() }
                }
                Edges.remove(edge, from: edges)
                removed += 1
            }
        }
        for _ in 0..<removed { Unmanaged.passUnretained(dependency).release() }
        if let becameReady { bringOn(after: becameReady) }
        return removed > 0
    }

    /// The dependencies in the order in which they were added, each once.
    var listedDependencies: [Operation] {
        guard status.has(.hasDependencies) else { return [] }
        let all: [Operation] = withLock {
            edges.load(ordering: .relaxed).map(Edges.dependencies) ?? []
        }
        guard all.count > 1 else { return all }
        // Adding one twice is noticed here: looking for it at each addition would make many slow.
        var seen = Set<ObjectIdentifier>(minimumCapacity: all.count)
        return all.filter { seen.insert(ObjectIdentifier($0)).inserted }
    }

    // MARK: Finishing

    /// Tells those who wait for this finished operation; `ready` gets each that is to be brought on.
    ///
    /// Which are then in nobody else's hands: they are *filed* (plain ones) or *asking*. The others are
    /// retained for the caller, who tells them apart by ``OperationWord/Flags/plain``.
    func releaseSuccessors(_ ready: (Unmanaged<Operation>) -> Void) {
        lock()
        defer { unlock() }
        guard let edges = edges.load(ordering: .relaxed) else { return }
        while let dependent = Edges.popSuccessor(edges) {
            if dependent._withUnsafeGuaranteedRef({ $0.dependencyGone() }) { ready(dependent) }
        }
    }

    /// One dependency has finished; true if the caller is to bring the operation on.
    @inline(__always)
    private func dependencyGone() -> Bool {
        var before = status
        while true {
            var after = before
            _ = after.dependencyFinished()
            let isOurs = before.phase == .waiting && after.phase != .waiting
            // Only a plain one cannot be finished by anybody else now. What was never enqueued may be
            // about to go away, and is not touched any more.
            let needsReference = isOurs && !before.has(.plain)
            if needsReference { _ = Unmanaged.passUnretained(self).retain() }
            let (exchanged, original) = word.weakCompareExchange(
                expected: before.bits, desired: after.bits,
                successOrdering: .acquiringAndReleasing, failureOrdering: .acquiring)
            if exchanged { return isOurs }
            if needsReference { Unmanaged.passUnretained(self).release() }
            before = OperationWord(bits: original)
        }
    }

    /// Takes this operation, which has finished early or is going away, off the lists of those it would
    /// have waited for.
    func detachFromDependencies() {
        guard let edges = edges.load(ordering: .acquiring) else { return }
        Edges.forEach(edges) { edge in
            guard let dependency = withLock({ edge.pointee.dependency?.takeUnretainedValue() })
            else { return }
            withLock(and: dependency) {
                guard edge.pointee.isLinked else { return }
                Edges.unlink(edge)
                update { $0.dependencyFinished() }
            }
        }
    }

    // MARK: Letting go

    /// Makes the dependencies of this finished operation forget theirs, so that a chain that goes on for
    /// ever does not grow.
    func forgetOldDependencies() {
        var forgotten: [Operation] = []
        withLock {
            guard let edges = edges.load(ordering: .relaxed) else { return }
            Edges.forEach(edges) { edge in
                edge.pointee.dependency?._withUnsafeGuaranteedRef {
                    // Somebody else at work there is no reason to wait: it only keeps memory a bit longer.
                    guard $0.status.has(.hasDependencies), $0.tryLock() else { return }
                    $0.takeDependencies(into: &forgotten)
                    $0.unlock()
                }
            }
        }
        Self.release(&forgotten)
    }

    /// Moves the references out of the edges of a finished operation. The lock is held.
    private func takeDependencies(into references: inout [Operation]) {
        let word = status
        guard word.phase == .finished, word.unfinishedDependencies == 0,
            let edges = edges.load(ordering: .relaxed)
        else { return }
        Edges.takeDependencies(edges, into: &references)
        update { word in
            word.remove(.hasDependencies)
            return true
        }
    }

    /// Lets go of operations without recursion: the last reference to the end of a long chain would
    /// otherwise release it one stack frame an operation.
    private static func release(_ operations: inout [Operation]) {
        while var operation = operations.popLast() {
            guard isKnownUniquelyReferenced(&operation) else { continue }
            operation.releaseEdges(into: &operations)
        }
    }

    private func releaseEdges(into references: inout [Operation]) {
        guard let pointer = edges.load(ordering: .acquiring) else { return }
        if status.unfinishedDependencies > 0 { detachFromDependencies() }
        Edges.takeDependencies(pointer, into: &references)
    }

    /// For `deinit`.
    func releaseEdges() {
        guard let pointer = edges.load(ordering: .acquiring) else { return }
        var references: [Operation] = []
        releaseEdges(into: &references)
        Edges.deallocate(pointer)
        Self.release(&references)
    }
}
