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
    ///
    /// - Parameter isOfGraph: whether it belongs to a graph of which the check knows it.
    /// - Returns: the edge, if a search (``TopologicalOrder``) has to find its place in the order of the graph.
    func connect(
        to dependency: Operation, on condition: DependencyCondition = .always,
        isOfGraph: Bool = false
    ) -> Edges.EdgePointer? {
        defer { if !isOfGraph { GraphCheck.recordEdge() } }
        lock(and: dependency)
        let edge = Edges.add(to: lockedEdges())
        edge.pointee.dependency = .passRetained(dependency)
        if condition != .always { edge.condition = condition }
        recordDependencies()
        // One that has finished has nothing to wait for, and is not held back.
        guard status.phase != .finished, dependency.status.phase != .finished else {
            dependency.unlock()
            update { word in
                word.insert(.hasDependencies)
                word.remove(.locked)
                return true
            }
            if status.has(.observed) { notifyObservers() }
            let word = dependency.status
            if word.phase == .finished {
                if !condition.isMet(by: word.outcome) {
                    cancel(becauseOf: dependency, word: word, on: condition)
                } else if condition == .failure {
                    dependency.withLock { dependency.observeFailure() }
                }
            }
            return nil
        }
        Edges.link(edge, into: dependency.lockedEdges())
        let isChecked = TopologicalOrder.agree(dependency, before: self)
        if !isChecked { edge.isUnchecked = true }
        if condition != .always {
            dependency.update { word in
                word.insert(.hasConditions)
                return true
            }
        }
        // Counted before anybody else can find the edge in the list.
        let change = update { word in
            word.remove(.locked)
            return word.dependencyAdded()
        }
        dependency.unlockWithSuccessors()
        let unchecked = isChecked ? nil : edge
        guard let change else { return unchecked }
        if change.before.phase == .queued { unfile() }
        if change.after.has(.observed) { notifyObservers() }
        promote(dependency: dependency, at: change.after)
        return unchecked
    }

    /// Takes every edge to `dependency` away, or only the unchecked one that closes a cycle.
    func disconnect(from dependency: Operation, refused: Edges.EdgePointer? = nil) {
        // Its lock cannot be taken twice.
        guard dependency !== self else { return }
        var removed = 0
        var becameReady: Change?
        withLock(and: dependency) {
            guard let edges = edges.load(ordering: .relaxed) else { return }
            removed = Edges.remove(from: edges) { edge in
                guard
                    edge.pointee.dependency?.toOpaque()
                        == Unmanaged.passUnretained(dependency).toOpaque(),
                    refused == nil || (refused == edge && edge.isUnchecked)
                else { return false }
                if edge.pointee.isLinked {
                    Edges.unlink(edge)
                    becameReady = update { $0.dependencyFinished() }
                }
                return true
            }
            if removed > 0 { recordDependencies() }
        }
        for _ in 0..<removed { Unmanaged.passUnretained(dependency).release() }
        if let becameReady { makeReady(after: becameReady) }
        if status.has(.observed) { notifyObservers() }
        // What was refused was no part of a cycle.
        if removed > 0, refused == nil { lookAtStandingCycles() }
    }

    /// The dependencies in the order in which they were added, each once.
    package final var listedDependencies: [Operation] {
        guard status.has(.hasDependencies) else { return [] }
        let all: [Operation] = withLock {
            edges.load(ordering: .relaxed).map(Edges.dependencies) ?? []
        }
        return Self.withoutRepetition(all)
    }

    static func withoutRepetition(_ all: [Operation]) -> [Operation] {
        guard all.count > 1 else { return all }
        // Adding one twice is noticed here: looking for it at each addition would make many slow.
        var seen = Set<ObjectIdentifier>(minimumCapacity: all.count)
        return all.filter { seen.insert(ObjectIdentifier($0)).inserted }
    }

    // MARK: Finishing

    /// Tells those who wait for this operation, which has finished and whose lock is held; `ready` gets each
    /// that is to be brought on.
    ///
    /// Which are then in nobody else's hands: they are *filed* (plain ones) or *asking*. The others are
    /// retained for the caller, who tells them apart by ``LifecycleState/Flags/plain``.
    ///
    /// - Returns: the observed ones, to be told when no lock is held.
    @inline(__always)
    func releaseSuccessors(_ ready: (Unmanaged<Operation>) -> Void) -> DeferredNotifications? {
        guard let edges = edges.load(ordering: .relaxed) else { return nil }
        var told: DeferredNotifications?
        let hasConditions = status.has(.hasConditions)
        while let edge = Edges.popSuccessor(edges) {
            let dependent = edge.dependent
            if hasConditions, !edge.condition.isMet(by: status.outcome) {
                reject(edge, &told)
                continue
            }
            // Somebody makes up for it.
            if hasConditions, edge.condition == .failure { observeFailure() }
            if dependent._withUnsafeGuaranteedRef({ $0.dependencyGone(&told) }) { ready(dependent) }
        }
        return told
    }

    /// The dependent is not to start: it is cancelled when no lock is held, and its count of dependencies
    /// is lowered only then, so that nothing else makes it ready before.
    @inline(never)
    private func reject(_ edge: Edges.EdgePointer, _ told: inout DeferredNotifications?) {
        let condition = edge.condition
        guard let dependent = Self.reference(toDependent: edge.dependent) else { return }
        let list = told ?? DeferredNotifications()
        told = list
        list.rejections.append(UnmetCondition(dependent: dependent, by: self, on: condition))
    }

    /// Somebody makes up for it. The lock is held.
    private func observeFailure() {
        existingExtras?.failure?.observe()
        existingExtras?.upstreamFailure?.observe()
    }

    /// A reference to a dependent whose edge was in the list of an operation that is still locked; nil if it
    /// is being let go of.
    ///
    /// Its memory is there: letting go of it takes that lock, for its count of dependencies is not zero.
    static func reference(toDependent dependent: Unmanaged<Operation>) -> Operation? {
        if dependent._withUnsafeGuaranteedRef({ $0.status.isInQueue }) {
            return dependent.takeUnretainedValue()
        }
        // Nobody else need keep it. The reference that is taken here, if it is being let go of, is none; until it
        // is known, that one must stay, or its end would come with the lock held.
        let operation = dependent.takeUnretainedValue()
        return withExtendedLifetime(operation) { WeakReference(operation).target }
    }

    /// One dependency has finished; true if the caller is to bring the operation on.
    @inline(__always)
    private func dependencyGone(_ told: inout DeferredNotifications?) -> Bool {
        var before = status
        while true {
            if before.has(.observed) { return observedDependencyGone(&told) }
            var after = before
            _ = after.dependencyFinished()
            let isOurs = before.phase == .waiting && after.phase != .waiting
            // Only a plain one cannot be finished by anybody else now. What was never enqueued may be
            // about to go away, and is not touched any more.
            let needsReference = isOurs && !before.has(.fastPath)
            if needsReference { _ = Unmanaged.passUnretained(self).retain() }
            let (exchanged, original) = word.weakCompareExchange(
                expected: before.bits, desired: after.bits,
                successOrdering: .acquiringAndReleasing, failureOrdering: .acquiring)
            if exchanged { return isOurs }
            if needsReference { Unmanaged.passUnretained(self).release() }
            before = LifecycleState(bits: original)
        }
    }

    /// Takes this operation, which has finished early or is going away, off the lists of those it would
    /// have waited for.
    func detachFromDependencies() {
        var pending: [(edge: Edges.EdgePointer, dependency: Operation)] = []
        withLock {
            guard let edges = edges.load(ordering: .relaxed) else { return }
            Edges.forEach(edges) { edge in
                guard let dependency = edge.pointee.dependency else { return }
                pending.append((edge, dependency.takeUnretainedValue()))
            }
        }
        for (edge, dependency) in pending {
            withLock(and: dependency) {
                // With the last unfinished dependency the edges may go (`takeDependencies`), and no new
                // one is linked; while there is one they stay where they are.
                guard status.unfinishedDependencies > 0, edge.pointee.isLinked else { return }
                Edges.unlink(edge)
                update { $0.dependencyFinished() }
            }
        }
    }

    // MARK: Letting go

    /// Makes the dependencies of this operation, which has finished and whose lock is held, forget theirs, so
    /// that a chain that goes on for ever does not grow.
    @inline(__always)
    func forgetOldDependencies(_ forgotten: inout References) {
        guard let edges = edges.load(ordering: .relaxed) else { return }
        Edges.forEach(edges) { edge in
            edge.pointee.dependency?._withUnsafeGuaranteedRef { dependency in
                dependency.forgetDependencies(&forgotten)
            }
        }
    }

    @inline(__always)
    private func forgetDependencies(_ forgotten: inout References) {
        let word = status
        // Observed ones keep theirs: observers would have to be told.
        guard word.has(.hasDependencies), word.phase == .finished, word.unfinishedDependencies == 0,
            !word.has(.observed)
        else { return }
        // With somebody else at work there is no reason to wait: that only keeps memory for longer.
        guard tryLock() else { return }
        // An observer that comes from here on reads the list when the lock is free.
        guard !status.has(.observed) else { return unlock() }
        if let edges = edges.load(ordering: .relaxed) {
            Edges.takeDependencies(edges) { forgotten.append($0) }
        }
        unlock(removing: .hasDependencies)
    }

    /// For `deinit`.
    func releaseEdges() {
        guard let pointer = edges.load(ordering: .acquiring) else { return }
        if status.unfinishedDependencies > 0 { detachFromDependencies() }
        // From here on no search finds the operation; one that has found it still uses its memory.
        if Rank(bits: rank.load(ordering: .acquiring)).isMarked { waitForSearch() }
        var references = References()
        Edges.takeDependencies(pointer) { references.append($0) }
        Edges.deallocate(pointer)
        references.release()
    }

    @inline(never)
    private func waitForSearch() {
        var backoff = Backoff()
        while Rank(bits: rank.load(ordering: .acquiring)).isMarked { backoff.pause() }
    }
}

/// References that are about to be released. The first needs no array.
struct References {
    private var first: Unmanaged<Operation>?
    private var rest: [Unmanaged<Operation>] = []

    @inline(__always)
    mutating func append(_ operation: Unmanaged<Operation>) {
        if first == nil { first = operation } else { rest.append(operation) }
    }

    /// Releases them, one after the other and not by recursion.
    @inline(__always)
    consuming func release() {
        if let first { ThreadContext.release(first, and: rest) }
    }
}

/// A weak reference, which the optimiser does not look into.
private final class WeakReference {
    private weak var object: Operation?

    @inline(never)
    init(_ object: Operation) { self.object = object }

    /// Nil if the object is being let go of.
    var target: Operation? {
        @inline(never) get { object }
    }
}
