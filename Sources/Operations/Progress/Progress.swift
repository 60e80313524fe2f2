import OperationsRuntime
import Synchronization

/// How much of some work is done, in units that its owner chooses.
///
/// Progresses form a tree. A child stands for some of its parent's units and counts in units of its
/// own; while it goes on, its fraction counts in its parent's fraction. When the child has
/// finished, its parent counts those units as completed and releases the child. So they are counted
/// once, whatever happens to the child later.
///
/// A parent keeps its unfinished children; a child does not keep its parent. Names and results are
/// those of Foundation's class of the same name; nothing here is localised, there is no user info,
/// and a progress cannot be paused.
///
/// Every property and method can be used from any thread. Several threads may raise the counts with
/// `+=` at the same time, and no increment is lost.
open class Progress: @unchecked Sendable {
    // Unchecked because the class is open: the base class keeps all its state inside this lock.
    let state: Locked<ProgressState>
    /// Whether the total is not 0. `completeUnit` reads this without the lock, on the path of every
    /// operation of a queue.
    let isActive: Atomic<Bool>
    /// Called after ``isActive`` has changed, with no lock held; nil for most progresses.
    private let activityChanged: (@Sendable () -> Void)?

    /// Makes a progress, as a child of the current one if there is one.
    ///
    /// The first progress that is made while another progress is current takes all of the units
    /// that were set aside for it; see ``becomeCurrent(withPendingUnitCount:)``.
    public init(totalUnitCount: Int64) {
        self.state = Locked(ProgressState(total: totalUnitCount))
        self.isActive = Atomic(totalUnitCount != 0)
        activityChanged = nil
        ProgressScope.current?.attach(self)
    }

    /// Makes a progress that stands for some units of its parent.
    ///
    /// - Parameters:
    ///   - totalUnitCount: how many units there are to do, in the new progress's own unit.
    ///   - parent: the parent. Its maker must keep it: the child does not.
    ///   - pendingUnitCount: how many of the parent's units the child stands for.
    public init(totalUnitCount: Int64, parent: Progress, pendingUnitCount: Int64) {
        self.state = Locked(ProgressState(total: totalUnitCount))
        self.isActive = Atomic(totalUnitCount != 0)
        activityChanged = nil
        parent.addChild(self, withPendingUnitCount: pendingUnitCount)
    }

    /// Makes a progress without a parent, even while another progress is current.
    ///
    /// - Parameter activityChanged: called after ``isActive`` has changed, with no lock held. Calls
    ///   for several changes may come in any order, each after its change.
    init(discreteTotalUnitCount: Int64, activityChanged: (@Sendable () -> Void)? = nil) {
        self.state = Locked(ProgressState(total: discreteTotalUnitCount))
        self.isActive = Atomic(discreteTotalUnitCount != 0)
        self.activityChanged = activityChanged
    }

    /// Makes a progress without a parent, even while another progress is current.
    public static func discreteProgress(totalUnitCount: Int64) -> Progress {
        Progress(discreteTotalUnitCount: totalUnitCount)
    }

    deinit {
        // Children may hold the last references to their own children.
        var contents = state.withLock { $0.takeContents() }
        guard contents != nil else { return }
        ThreadContext.releasing {
            contents = nil
        } later: {
            contents as Any
        }
    }

    // MARK: Counts

    /// How many units there are to do; a negative number means that the total is unknown.
    open var totalUnitCount: Int64 {
        get { state.withLock { $0.total } }
        set {
            changeTotal { $0.totalChanged(to: newValue) }
        }
        _modify {
            let before = state.withLock { $0.total }
            var total = before
            defer {
                if total != before { changeTotal { $0.totalChanged(from: before, to: total) } }
            }
            yield &total
        }
    }

    /// Changes the total by an event of the state.
    func changeTotal(_ event: (inout ProgressState) -> ProgressState.Propagation) {
        let (propagation, isChange) = state.withLock { state in
            let propagation = event(&state)
            let wasActive = isActive.load(ordering: .relaxed)
            isActive.store(state.total != 0, ordering: .releasing)
            return (propagation, wasActive != (state.total != 0))
        }
        if isChange { activityChanged?() }
        propagate(propagation)
    }

    /// How many units are done, including the units of finished children.
    ///
    /// A number above ``totalUnitCount`` is kept as it is; a negative number means that the count
    /// is unknown.
    ///
    /// `completedUnitCount += n` adds in one step, from any number of threads: what is changed in
    /// place, by an operator or an `inout` argument, is added to the count as a difference.
    /// Observers of an assignment see the assigned number.
    open var completedUnitCount: Int64 {
        get { state.withLock { $0.completed } }
        set { propagate(state.withLock { $0.completedChanged(to: newValue) }) }
        // The lock is free while the caller changes the copy, because what changes it may be the
        // caller's function. If that throws, its changes count all the same.
        _modify {
            let before = state.withLock { $0.completed }
            var completed = before
            defer {
                if completed != before {
                    propagate(
                        state.withLock { $0.completedChanged(from: before, to: completed) })
                }
            }
            yield &completed
        }
    }

    /// Counts units as completed, in one step.
    ///
    /// - Parameter units: how many; a negative number takes units back. The count stops at the
    ///   limits of its type.
    /// - Complexity: O(number of progresses above).
    public func complete(_ units: Int64) {
        propagate(state.withLock { $0.completed(units: units) })
    }

    /// The part that is done, from 0 to 1, including the done part of unfinished children.
    ///
    /// 0 while a count is unknown. Above 1 if more units were completed than there are.
    open var fractionCompleted: Double { state.withLock { $0.fraction } }

    /// Whether the fraction has no meaning yet: one of the counts is negative, or both are 0.
    open var isIndeterminate: Bool { state.withLock { $0.isIndeterminate } }

    /// Whether at least one unit is done and none is left; the state of children does not matter.
    open var isFinished: Bool { state.withLock { $0.isFinished } }

    // MARK: Children

    /// Makes a progress a child that stands for some of this progress's units.
    ///
    /// The work that the child has already done counts at once. A child that is added to a
    /// cancelled progress is cancelled too.
    ///
    /// - Complexity: O(number of progresses above), as for each change of a count; O(1) if nothing
    ///   of the child is done yet and it has never had children.
    /// - Precondition: the child has no parent and is not this progress nor above it.
    open func addChild(_ child: Progress, withPendingUnitCount units: Int64) {
        let result = adopt(child, units: units)
        switch result {
        case .hasParent:
            misuse("\(child) has a parent already: add each progress to one parent only")
        case .isAncestor:
            misuse("\(child) is \(self) or above it and cannot be its child: add another progress")
        case .adopted(let isCancelled):
            if let change = child.state.withLock({ $0.changeForParent() }) {
                child.propagate(change)
            }
            if isCancelled { child.cancel() }
        }
    }

    // MARK: Being current

    /// The progress that is current where the caller runs; nil if there is none.
    public static func current() -> Progress? { ProgressScope.current?.progress }

    /// Sets units aside, on the calling thread, for the next progress that is made there.
    ///
    /// So a function can report to its caller without a progress as an argument. The first progress
    /// made with ``init(totalUnitCount:)`` becomes a child for these units; later progresses get no
    /// parent. If no progress is made, the units count as completed with ``resignCurrent()``, which
    /// must follow on the same thread. In `async` functions use
    /// ``performAsCurrent(withPendingUnitCount:using:)`` instead.
    ///
    /// - Precondition: this is not already the current progress of the thread.
    open func becomeCurrent(withPendingUnitCount units: Int64) {
        guard ProgressScope.ofThread?.progress !== self else {
            misuse("\(self) is current on this thread already: call resignCurrent() first")
        }
        ProgressScope.enter(self, units: units)
    }

    /// Ends the effect of the last ``becomeCurrent(withPendingUnitCount:)`` on this thread.
    ///
    /// - Precondition: this is the progress that became current last, on this thread.
    open func resignCurrent() {
        guard let scope = ProgressScope.ofThread, scope.progress === self else {
            misuse(
                "\(self) is not current on this thread: call resignCurrent() once for each "
                    + "becomeCurrent, on the same thread and the last one first")
        }
        ProgressScope.leave(scope)
    }

    /// Sets units aside for the first progress that `work` makes.
    ///
    /// As ``becomeCurrent(withPendingUnitCount:)``; returns and throws what `work` does.
    public func performAsCurrent<Result, Failure: Error>(
        withPendingUnitCount units: Int64, using work: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        becomeCurrent(withPendingUnitCount: units)
        defer { resignCurrent() }
        return try work()
    }

    /// Sets units aside for the first progress that `work`, or a child task of it, makes.
    ///
    /// The progress is current in the task, on whichever threads the task runs. A task that
    /// outlives `work` has no current progress from then on.
    public func performAsCurrent<Result>(
        withPendingUnitCount units: Int64, using work: () async throws -> Result,
        isolation: isolated (any Actor)? = #isolation
    ) async rethrows -> Result {
        let scope = ProgressScope(self, units: units, outer: nil)
        defer { scope.close() }
        return try await ProgressScope.$ofTask.withValue(scope) { try await work() }
    }

    // MARK: Cancelling

    /// Whether ``cancel()`` was called, on this progress or on one above it.
    open var isCancelled: Bool { state.withLock { $0.isCancelled } }

    /// Whether to offer people a way to cancel; true unless set. It has no other effect.
    open var isCancellable: Bool {
        get { state.withLock { $0.isCancellable } }
        set { state.withLock { $0.isCancellable = newValue } }
    }

    /// Asks the work, and that of all children, to stop.
    ///
    /// The call stops nothing by itself: the work checks ``isCancelled-property`` or sets a
    /// ``cancellationHandler``. A second call has no effect. Parents are not affected. When the
    /// call returns, all progresses below are cancelled. For a call from inside another `cancel()`,
    /// which is on its way down a tree of many levels, that holds when the outer call returns.
    open func cancel() {
        guard let cancellation = state.withLock({ $0.cancelRequested() }) else { return }
        propagate(cancellation)
    }

    /// A function called after ``cancel()``; at once if it is set after the cancellation.
    ///
    /// Handlers run on a worker thread. If several handlers of one progress are called, they run
    /// one after the other, in the order in which they were set.
    open var cancellationHandler: (@Sendable () -> Void)? {
        get {
            // Not the result of the generic function, which would be the handler wrapped in a
            // thunk: a program that sets what it has read would wrap it again and again.
            var handler: ProgressState.Handler?
            state.withLock { handler = $0.cancellationHandler }
            return handler
        }
        set { setCancellationHandler(newValue) }
    }
}
