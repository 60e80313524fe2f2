import OperationsRuntime
import Synchronization

extension Operation {
    /// Returns the edges, which are allocated on first use. The operation's lock is held.
    @inline(__always)
    private func lockedEdges() -> Edges.Pointer {
        if let edges = edges.load(ordering: .relaxed) { return edges }
        let new = Edges.allocate(for: opaque)
        edges.store(new, ordering: .relaxed)
        return new
    }

    // MARK: Adding and removing

    /// Makes the operation wait for `dependency`.
    ///
    /// - Parameter isOfGraph: whether the dependency belongs to a graph whose check already knows
    ///   about it.
    /// - Returns: the edge, if it may close a cycle.
    func connect(
        to dependency: Operation, on condition: DependencyCondition = .always,
        isOfGraph: Bool = false
    ) -> Edges.EdgePointer? {
        defer { if !isOfGraph { EdgeCount.recordEdge() } }
        lock(and: dependency)
        let edge = Edges.add(
            Unmanaged.passRetained(dependency).toOpaque(), to: lockedEdges())
        if condition != .always { edge.condition = condition }
        // A finished operation waits for nothing, and a finished dependency holds nothing back: the
        // edge is not linked.
        guard status.phase != .finished, dependency.status.phase != .finished else {
            recordDependencies()
            dependency.lifecycle.unlock()
            lifecycle.unlock(inserting: .hasDependencies)
            notifyObservers()
            let state = dependency.status
            if state.phase == .finished {
                if !condition.isMet(by: state.outcome) {
                    cancel(becauseOf: dependency, state: state, on: condition)
                } else if condition == .failure {
                    dependency.withLock { dependency.handleFailure(by: .passUnretained(self)) }
                }
            }
            return nil
        }
        Edges.link(edge, into: dependency.lockedEdges())
        // The edge of a cycle that is linked last has both; see Cycles.md.
        let isSuspicious =
            status.has(.hasSuccessors) && dependency.status.unfinishedDependencies > 0
        if condition != .always {
            dependency.lifecycle.insert(.hasConditions)
        }
        // The dependency is counted before another thread can find the edge in the dependency's
        // list. As on Apple's systems, observers are notified of `isReady` before `dependencies`.
        // An observer that comes from here on reads the list once the lock is free.
        let isObserved = status.has(.observed)
        let change = exchange { state in
            if !isObserved { state.remove(.locked) }
            return state.dependencyAdded()
        }
        if isObserved {
            recordObservedDependencies()
            lifecycle.unlock()
        }
        // The flag changes under the lock only.
        dependency.lifecycle.unlock(inserting: .hasSuccessors)
        let state = status
        let mayHoldBackOthers = state.has(.hasSuccessors) || state.isHeldInQueue
        let suspect =
            isSuspicious || (mayHoldBackOthers && mayCloseCircle(with: dependency)) ? edge : nil
        guard let change else { return suspect }
        if !change.actions.isEmpty || change.after.has(.observed) { perform(change) }
        promote(dependency: dependency, at: change.after)
        return suspect
    }

    /// Whether an edge to `dependency`, which was linked, may close a circle in which something
    /// else than a dependency holds operations back: the order of a queue, a group, or a wait in a
    /// body. Both states are read after the edge was linked.
    @inline(never)
    private func mayCloseCircle(with dependency: Operation) -> Bool {
        guard status.has(.hasSuccessors) || isMember || retainedQueue()?.ordersStarts == true
        else { return false }
        let other = dependency.status
        if other.isAtWork || other.unfinishedDependencies > 0 || dependency.isMember { return true }
        return other.isHeldInQueue && dependency.retainedQueue()?.ordersStarts == true
    }

    /// Whether the operation is a member of a group.
    private var isMember: Bool { existingExtras != nil && withExtras { $0.group } != nil }

    /// Removes every edge to `dependency`.
    ///
    /// - Parameter refused: if not nil, only this edge is removed: it would close a cycle.
    func disconnect(from dependency: Operation, refused: Edges.EdgePointer? = nil) {
        // The lock of one operation cannot be taken twice.
        guard dependency !== self else { return }
        var removed = 0
        var becameReady: Change?
        withLock(and: dependency) {
            guard let edges = edges.load(ordering: .relaxed) else { return }
            removed = Edges.remove(dependency.opaque, from: edges) { edge in
                guard refused == nil || refused == edge else { return false }
                if edge.pointee.isLinked {
                    Edges.unlink(edge)
                    becameReady = exchange { $0.dependencyFinished() }
                }
                return true
            }
            if removed > 0 { recordDependencies() }
        }
        for _ in 0..<removed { Unmanaged.passUnretained(dependency).release() }
        if let becameReady { perform(becameReady) }
        notifyObservers()
    }

    /// Records the present list of dependencies, if they are observed. The lock is held.
    @inline(__always)
    private func recordDependencies() {
        if status.has(.observed) { recordObservedDependencies() }
    }

    @inline(never)
    private func recordObservedDependencies() {
        recorder.record(
            .dependencies { [edges = edges.load(ordering: .relaxed)] in
                Self.withoutRepetition(edges.map(Edges.dependencies) ?? [])
            })
    }

    /// The dependencies in the order in which they were added, without duplicates.
    package final var listedDependencies: [Operation] {
        guard status.has(.hasDependencies) else { return [] }
        let all: [Operation] = withLock {
            edges.load(ordering: .relaxed).map(Edges.dependencies) ?? []
        }
        return Self.withoutRepetition(all)
    }

    static func withoutRepetition(_ all: [Operation]) -> [Operation] {
        guard all.count > 1 else { return all }
        // Duplicates are removed here, when the list is read: a check at each addition would make
        // the addition of many dependencies slow.
        var seen = Set<ObjectIdentifier>(minimumCapacity: all.count)
        return all.filter { seen.insert(ObjectIdentifier($0)).inserted }
    }

    // MARK: Finishing

    /// Releases the dependents of this operation, which has finished and whose lock is held.
    ///
    /// `ready` gets each dependent that the caller has to make ready. No other thread can do so any
    /// more: a dependent on the fast path is already *queued*, and any other dependent is
    /// *checkingReadiness*. The caller tells the two apart by ``LifecycleState/Flags/fastPath``. A
    /// dependent that is not on the fast path is retained for the caller.
    ///
    /// - Returns: the changes of observed dependents, the unmet conditions and the dependents in no
    ///   queue whose `isReady` is read, to be handled once no lock is held; nil if there are none.
    @inline(__always)
    func releaseSuccessors(_ ready: (Unmanaged<Operation>) -> Void) -> DeferredNotifications? {
        guard let edges = edges.load(ordering: .relaxed) else { return nil }
        var deferred: DeferredNotifications?
        let hasConditions = status.has(.hasConditions)
        while let edge = Edges.popSuccessor(edges) {
            let dependent = edge.dependent
            if hasConditions, !edge.condition.isMet(by: status.outcome) {
                reject(edge, &deferred)
                continue
            }
            if hasConditions, edge.condition == .failure { handleFailure(by: dependent) }
            if Self.dependencyGone(from: dependent, &deferred) { ready(dependent) }
        }
        return deferred
    }

    /// Defers the cancellation of a dependent whose condition is not met.
    ///
    /// The dependent is cancelled once no lock is held, and its count of dependencies is lowered
    /// only then. So no other event makes the dependent ready before.
    @inline(never)
    private func reject(_ edge: Edges.EdgePointer, _ deferred: inout DeferredNotifications?) {
        let condition = edge.condition
        guard let dependent = Self.reference(toDependent: edge.dependent) else { return }
        let list = deferred ?? DeferredNotifications()
        deferred = list
        list.rejections.append(UnmetCondition(dependent: dependent, by: self, on: condition))
    }

    /// Marks the failure of this operation, or the failure that it was cancelled for, as observed
    /// and handled by a dependent, unless that is cancelled, and does not run. The operation's lock
    /// is held.
    private func handleFailure(by dependent: Unmanaged<Operation>) {
        if dependent._withUnsafeGuaranteedRef({ $0.status.isStopped }) { return }
        for failure in [existingExtras?.failure, existingExtras?.upstreamFailure] {
            failure?.observe()
            failure?.handle()
        }
    }

    /// Returns a reference to a dependent whose edge was in the list of an operation that is still
    /// locked; nil if the dependent is being deinitialized.
    ///
    /// The dependent's memory is valid: its deinitialization takes the lock that is held here,
    /// because its count of dependencies is not zero.
    static func reference(toDependent dependent: Unmanaged<Operation>) -> Operation? {
        if dependent._withUnsafeGuaranteedRef({ $0.status.isInQueue }) {
            return dependent.takeUnretainedValue()
        }
        // An operation that is in no queue may have no other owner. If its deinitialization has
        // begun, the strong reference that is taken here keeps nothing alive, and only the weak
        // reference tells. Until the weak reference has been read, the strong one must stay:
        // otherwise its release could run `deinit` with the lock held.
        let operation = dependent.takeUnretainedValue()
        return withExtendedLifetime(operation) { WeakReference(operation).target }
    }

    /// Lowers the count of unfinished dependencies by one. Returns whether the caller has to make
    /// the operation ready. The lock of the finished dependency is held.
    ///
    /// The closure captures no reference: a build without optimization would retain it, and its
    /// release could be the last one, whose `deinit` waits for the lock that is held.
    @inline(__always)
    private static func dependencyGone(
        from dependent: Unmanaged<Operation>, _ deferred: inout DeferredNotifications?
    ) -> Bool {
        // Only an operation on the fast path cannot be finished by another thread once it is ready.
        // Any other operation is retained before that. An operation that was never enqueued may be
        // about to go away, and is not touched after the exchange.
        var isRetained = false
        let change = dependent._withUnsafeGuaranteedRef {
            $0.exchange { state in
                if state.has(.observed) { deferNotification(of: dependent, &deferred) }
                let actions = state.dependencyFinished()
                if actions == .checkReadiness, !isRetained {
                    _ = dependent.retain()
                    isRetained = true
                }
                if actions == .readReadiness { deferReading(of: dependent, &deferred) }
                return actions
            }
        }
        if let actions = change?.actions, !actions.isDisjoint(with: [.enqueue, .checkReadiness]) {
            return true
        }
        if isRetained { dependent.release() }
        return false
    }

    /// Has `isReady` of an operation that is in no queue read once the lock of the finished
    /// dependency is released. The dependency still counts as unfinished.
    @inline(never)
    private static func deferReading(
        of dependent: Unmanaged<Operation>, _ deferred: inout DeferredNotifications?
    ) {
        guard let operation = reference(toDependent: dependent) else { return }
        let list = deferred ?? DeferredNotifications()
        deferred = list
        list.unqueued.append(operation)
    }

    /// Has observers notified once the lock of the finished dependency is released.
    @inline(never)
    private static func deferNotification(
        of dependent: Unmanaged<Operation>, _ deferred: inout DeferredNotifications?
    ) {
        let list = deferred ?? DeferredNotifications()
        deferred = list
        dependent._withUnsafeGuaranteedRef { list.recorders.append($0.recorder) }
    }

    /// Removes this operation, which has finished early or is being deinitialized, from the lists
    /// of its unfinished dependencies.
    func detachFromDependencies() {
        var pending: [(edge: Edges.EdgePointer, dependency: Operation)] = []
        withLock {
            guard let edges = edges.load(ordering: .relaxed) else { return }
            Edges.forEach(edges) { edge in
                guard let dependency = edge.dependency else { return }
                pending.append((edge, dependency.takeUnretainedValue()))
            }
        }
        for (edge, dependency) in pending {
            withLock(and: dependency) {
                // Once the last dependency has finished, another thread may take the edges
                // (`takeDependencies`), and no new edge is linked. While an unfinished dependency
                // is left, the edges stay where they are.
                guard status.unfinishedDependencies > 0, edge.pointee.isLinked else { return }
                Edges.unlink(edge)
                _ = exchange { $0.dependencyFinished() }
            }
        }
    }

    // MARK: Releasing

    /// Makes the dependencies of this operation drop their own dependencies, so that an endless
    /// chain does not grow. This operation has finished, and its lock is held.
    @inline(__always)
    func pruneDependencies(_ pruned: inout ReferenceList<Operation>) {
        guard let edges = edges.load(ordering: .relaxed) else { return }
        Edges.forEach(edges) { edge in
            edge.dependency?._withUnsafeGuaranteedRef { dependency in
                dependency.takeDependencies(&pruned)
            }
        }
    }

    @inline(__always)
    private func takeDependencies(_ pruned: inout ReferenceList<Operation>) {
        let state = status
        // An observed operation keeps its dependencies: otherwise its observers would have to be
        // notified.
        guard state.has(.hasDependencies), state.phase == .finished,
            state.unfinishedDependencies == 0,
            !state.has(.observed)
        else { return }
        // If another thread holds the lock, waiting is not worth it: skipping the operation only
        // keeps memory for longer.
        guard lifecycle.tryLock() else { return }
        // An observer that is added from here on reads the list once the lock is free.
        guard !status.has(.observed) else { return lifecycle.unlock() }
        if let edges = edges.load(ordering: .relaxed) {
            Edges.takeDependencies(edges) { pruned.append(.fromOpaque($0)) }
        }
        lifecycle.unlock(removing: .hasDependencies)
    }

    /// Releases the edges in `deinit`.
    func releaseEdges() {
        guard let pointer = edges.load(ordering: .acquiring) else { return }
        if status.unfinishedDependencies > 0 { detachFromDependencies() }
        var references = ReferenceList<Operation>()
        Edges.takeDependencies(pointer) { references.append(.fromOpaque($0)) }
        Edges.deallocate(pointer)
        ThreadContext.release(references)
    }
}

// The operations at the ends of an edge. The edge itself holds addresses, and never looks behind
// them.
extension Edges.EdgePointer {
    /// The dependency, retained; nil once the edge has been removed.
    var dependency: Unmanaged<Operation>? {
        @inline(__always) get { pointee.dependencyAddress.map { Unmanaged.fromOpaque($0) } }
    }

    var dependent: Unmanaged<Operation> {
        @inline(__always) get { Unmanaged.fromOpaque(dependentAddress) }
    }
}

extension Edges {
    /// Returns the dependencies in the order in which they were added.
    static func dependencies(_ edges: Pointer) -> [Operation] {
        inOrder(edges).compactMap { $0.dependency?.takeUnretainedValue() }
    }
}

/// Calls of user code that have to wait until a lock is released.
final class DeferredNotifications {
    var recorders: [any OperationRecorder] = []
    var rejections: [UnmetCondition] = []
    /// The operations in no queue whose last dependency has finished.
    var unqueued: [Operation] = []

    func send() {
        for recorder in recorders { recorder.notifyObservers() }
        for rejection in rejections { rejection.cancelDependent() }
        for operation in unqueued { _ = operation.isReady }
    }
}

/// A weak reference that the optimizer cannot see through.
private final class WeakReference {
    private weak var object: Operation?

    @inline(never)
    init(_ object: Operation) { self.object = object }

    /// The object; nil if its deinitialization has begun.
    var target: Operation? {
        @inline(never) get { object }
    }
}
