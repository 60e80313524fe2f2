import OperationsRuntime
import Synchronization

// How changes propagate through the tree. Fractions go up: each step takes one lock, and a version
// number keeps a late report from replacing a newer one. So once all threads that changed something
// have returned, every ancestor is exact. Cancellations go down. No lock is held while another one
// is taken, except for the lock of the edges, which is taken first.

extension Progress {
    enum Adoption {
        case adopted(isCancelled: Bool)
        case hasParent
        case isAncestor
    }

    /// Held while a child is added: two progresses that are added to each other at the same time
    /// must not form a cycle.
    private static let edges = Locked(())

    func adopt(_ child: Progress, units: Int64) -> Adoption {
        // Releasing a progress can run a user's `deinit`, so the references are released after the
        // lock.
        let (result, path): (Adoption, [Progress]) = Self.edges.withLock { _ in
            // A progress that never had a child is above no other progress.
            let mayBeAbove = child === self || child.state.withLock { $0.hasHadChildren }
            var path = [self]
            while mayBeAbove, let last = path.last, last !== child {
                guard let parent = last.state.withLock({ $0.parent }) else { break }
                path.append(parent)
            }
            if path.last === child { return (.isAncestor, path) }
            if let parent = child.state.withLock({ $0.adopted(by: self) }) {
                return (.hasParent, path + [parent])
            }
            return state.withLock { state in
                state.childAdded(child, units: units)
                return (.adopted(isCancelled: state.isCancelled), path)
            }
        }
        withExtendedLifetime(path) {}
        return result
    }

    /// Notifies the observers of this progress, then reports the change to the parent, and so on up
    /// to the root.
    func propagate(_ propagation: ProgressState.Propagation) {
        var propagation = propagation
        var child = self
        while true {
            for wait in propagation.waiting { wait.end(inTime: true) }
            propagation.onChange?()
            propagation.observations?.notifyObservers()
            guard let parent = propagation.parent else { return }
            let (id, report) = (ObjectIdentifier(child), propagation.report)
            guard let next = parent.state.withLock({ $0.childReported(id, report) }) else { return }
            propagation = next
            child = parent
        }
    }

    /// Raises the total, in one step.
    func raiseTotal(by units: Int64) { changeTotal { $0.totalRaised(by: units) } }

    /// Counts one unit as completed, if the number of units has been set.
    func completeUnit() {
        guard isActive.load(ordering: .acquiring) else { return }
        complete(1)
    }

    /// The handler called after each change of anything but the handlers and `isCancellable`, on
    /// the thread that made the change, with no lock held. It may also be called without a change.
    var onChange: (@Sendable () -> Void)? {
        get { state.withLock { $0.onChange } }
        set {
            // Not by a key path, which would wrap the function.
            let previous = state.withLock { state in
                defer { state.onChange = newValue }
                return state.onChange
            }
            withExtendedLifetime(previous) {}
        }
    }
}

// MARK: - Cancelling

extension Progress {
    /// Lets a worker call the handler, spreads the change upwards, and cancels the children.
    func propagate(_ cancellation: ProgressState.Cancellation) {
        if cancellation.mustCall { callHandlers() }
        propagate(cancellation.propagation)
        guard !cancellation.children.isEmpty else { return }
        ThreadContext.nesting { for child in cancellation.children { child.cancel() } }
    }

    func setCancellationHandler(_ handler: ProgressState.Handler?) {
        let replacement = state.withLock { $0.cancellationHandlerSet(handler) }
        if replacement.mustCall { callHandlers() }
        withExtendedLifetime(replacement.previous) {}
    }

    /// Handlers are not called directly, because a thread that cancels may hold a lock that a
    /// handler takes.
    private func callHandlers() {
        WorkerPool.submit(
            .block { [self] in
                while let handler = state.withLock({ $0.nextCall() }) { handler() }
            })
    }
}

extension Progress: Hashable {
    /// Progresses are equal if they are the same object.
    public static func == (a: Progress, b: Progress) -> Bool { a === b }

    /// Hashes the object's identity.
    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension Progress: CustomStringConvertible {
    /// The type and address, and the counts.
    public var description: String {
        let address = String(UInt(bitPattern: ObjectIdentifier(self)), radix: 16)
        return "\(type(of: self)) 0x\(address) (\(state.withLock { $0.description }))"
    }
}

extension ProgressState {
    fileprivate var description: String {
        var parts = ["\(completed) of \(total) units"]
        if !isIndeterminate { parts.append("\(Int(min(fraction * 100, 1_000_000))) %") }
        if isCancelled { parts.append("cancelled") }
        return parts.joined(separator: ", ")
    }
}

extension Progress {
    /// Adds a child that stands for one unit, for one operation of a queue.
    func makeUnit() -> Progress {
        let unit = Progress.discreteProgress(totalUnitCount: 1)
        addChild(unit, withPendingUnitCount: 1)
        return unit
    }
}
