import OperationsRuntime

/// Units that are set aside for the first progress that is made while another one is current.
final class ProgressScope: Sendable {
    private enum Use {
        /// → `taken`, `closed`.
        case free
        /// A progress has become the child for these units. → `closed`.
        case taken
        /// Terminal. A task that inherited the scope may still see it.
        case closed
    }

    private let owner: Progress
    private let units: Int64
    /// The scope that was current on this thread before.
    private let outer: ProgressScope?
    private let use = Locked(Use.free)

    init(_ owner: Progress, units: Int64, outer: ProgressScope?) {
        self.owner = owner
        self.units = units
        self.outer = outer
    }

    /// The current progress; nil once the scope is closed.
    var progress: Progress? {
        use.withLock { if case .closed = $0 { nil } else { owner } }
    }

    /// Makes a new progress the child for these units. Only the first new progress becomes a child,
    /// because others would count the units again.
    func attach(_ child: Progress) {
        let isFirst = use.withLock { use in
            guard case .free = use else { return false }
            use = .taken
            return true
        }
        if isFirst { owner.addChild(child, withPendingUnitCount: units) }
    }

    /// Closes the scope, and counts the units as completed if no progress stands for them.
    func close() {
        let isUnused = use.withLock { use in
            defer { use = .closed }
            guard case .free = use else { return false }
            return true
        }
        if isUnused { owner.complete(units) }
    }
}

// MARK: - Where it is current

extension ProgressScope {
    /// The scope of a task and of its child tasks.
    @TaskLocal static var ofTask: ProgressScope?

    private static let pointer = ThreadLocalPointer { scope in
        guard let scope else { return }
        Unmanaged<ProgressScope>.fromOpaque(scope).release()
    }

    /// The scope of the calling thread.
    static var ofThread: ProgressScope? {
        pointer.value.map { Unmanaged<ProgressScope>.fromOpaque($0).takeUnretainedValue() }
    }

    /// The scope that is current where the caller runs.
    ///
    /// The thread's scope comes before the task's. It ends before the function that began it can be
    /// suspended, so it was begun inside the task's scope.
    static var current: ProgressScope? { ofThread ?? ofTask }

    static func enter(_ progress: Progress, units: Int64) {
        replace(with: ProgressScope(progress, units: units, outer: ofThread))
    }

    static func leave(_ scope: ProgressScope) {
        replace(with: scope.outer)
        scope.close()
    }

    private static func replace(with scope: ProgressScope?) {
        let previous = pointer.value
        pointer.value = scope.map { Unmanaged.passRetained($0).toOpaque() }
        if let previous { Unmanaged<ProgressScope>.fromOpaque(previous).release() }
    }
}
