import OperationsRuntime

/// The state of one progress.
///
/// Pure: the state takes no locks and calls nothing. Each method is one event; the ``Propagation``
/// that it returns is what the caller must propagate after releasing the lock.
struct ProgressState {
    typealias Handler = @Sendable () -> Void

    private(set) var total: Int64
    private(set) var completed: Int64 = 0
    /// A number that rises with every change. It tells new reports of a child from older ones that
    /// come late, and tells observers whether they have missed something.
    private(set) var version: UInt64 = 0

    private(set) weak var parent: Progress?
    /// The children that have not finished.
    private var children: [ObjectIdentifier: Child] = [:]
    /// Whether the progress has ever had a child.
    private(set) var hasHadChildren = false
    /// The completed part of the unfinished children, in units of this progress.
    private var unitsInChildren = 0.0

    var onChange: Handler?
    /// The observations; nil until the progress is first observed.
    var observations: Observations<Progress>?
    private var waiting: [ObjectIdentifier: TimedWait] = [:]

    private(set) var isCancelled = false
    var isCancellable = true
    private(set) var cancellationHandler: Handler?
    /// Handlers that are still to be called, by the thread that is calling handlers or by the one
    /// that was asked to.
    private var calls: [Handler] = []
    private var isCalling = false

    init(total: Int64) {
        self.total = total
    }

    var isIndeterminate: Bool { total < 0 || completed < 0 || (total == 0 && completed == 0) }

    var isFinished: Bool { completed > 0 && total >= 0 && completed >= total }

    var fraction: Double {
        guard total > 0 else { return isFinished ? 1 : 0 }
        return max(0, (Double(completed) + unitsInChildren) / Double(total))
    }
}

// MARK: - The tree

extension ProgressState {
    private struct Child {
        let progress: Progress
        let units: Int64
        var fraction = 0.0
        var version: UInt64 = 0
    }

    /// A child's report to its parent.
    struct Report {
        let version: UInt64
        let fraction: Double
        let isFinished: Bool
    }

    /// A change on its way up the tree.
    struct Propagation: Sendable {
        let report: Report
        let parent: Progress?
        let onChange: Handler?
        let waiting: [TimedWait]
        let observations: Observations<Progress>?
    }

    /// Records a change, and returns it for the way up.
    mutating func propagation() -> Propagation {
        version += 1
        recordChange()
        let woken = Array(waiting.values)
        if !woken.isEmpty { waiting = [:] }
        return Propagation(
            report: report, parent: parent, onChange: onChange, waiting: woken,
            observations: observations)
    }

    /// A propagation that only continues upwards, because nothing has changed in this progress.
    private var unchanged: Propagation {
        Propagation(report: report, parent: parent, onChange: nil, waiting: [], observations: nil)
    }

    private var report: Report {
        Report(version: version, fraction: fraction, isFinished: isFinished)
    }

    mutating func totalChanged(to total: Int64) -> Propagation {
        let isChange = total != self.total
        self.total = total
        return isChange ? propagation() : unchanged
    }

    /// Raises the total. A negative total, which is unknown, counts as 0.
    mutating func totalRaised(by units: Int64) -> Propagation {
        totalChanged(to: max(total, 0).addingClamped(units))
    }

    /// Changes the total by a difference, because others may have changed it meanwhile.
    mutating func totalChanged(from before: Int64, to after: Int64) -> Propagation {
        totalChanged(to: total.addingClamped(after.subtractingClamped(before)))
    }

    mutating func completedChanged(to completed: Int64) -> Propagation {
        let isChange = completed != self.completed
        self.completed = completed
        return isChange ? propagation() : unchanged
    }

    /// Changes the count by a difference, because others may have changed it meanwhile.
    mutating func completedChanged(from before: Int64, to after: Int64) -> Propagation {
        completed(units: after.subtractingClamped(before))
    }

    mutating func completed(units: Int64) -> Propagation {
        completedChanged(to: completed.addingClamped(units))
    }

    /// Sets the parent, unless there is one already. Returns the parent that the progress had
    /// already, and keeps.
    mutating func adopted(by parent: Progress) -> Progress? {
        if let known = self.parent { return known }
        self.parent = parent
        return nil
    }

    mutating func childAdded(_ child: Progress, units: Int64) {
        children[ObjectIdentifier(child)] = Child(progress: child, units: units)
        hasHadChildren = true
    }

    /// Returns the report for a new parent; nil if the report says what a parent assumes of a new
    /// child.
    func changeForParent() -> Propagation? {
        guard fraction != 0 || isFinished else { return nil }
        return unchanged
    }

    /// Takes out the contents that hold other objects, to be released without the lock; returns nil
    /// if there are none.
    mutating func takeContents() -> ProgressState? {
        guard
            !children.isEmpty || !calls.isEmpty || observations != nil || onChange != nil
                || cancellationHandler != nil
        else { return nil }
        defer { self = ProgressState(total: total) }
        return self
    }

    /// Takes a child's report. Returns nil if the report makes no difference here, and so none
    /// further up.
    ///
    /// A report that is older than the latest one, or comes from a child that has finished, changes
    /// nothing here. The caller still continues upwards, because the thread that brought the newer
    /// report may not have got there yet.
    mutating func childReported(_ id: ObjectIdentifier, _ report: Report) -> Propagation? {
        guard var child = children[id], report.version > child.version else {
            return unchanged
        }
        let before = fraction
        unitsInChildren -= Double(child.units) * child.fraction
        child.version = report.version
        if report.isFinished {
            children[id] = nil
            completed = completed.addingClamped(child.units)
            // Rounding errors end with the last child.
            if children.isEmpty { unitsInChildren = 0 }
            return propagation()
        }
        child.fraction = min(max(report.fraction, 0), 1)
        unitsInChildren += Double(child.units) * child.fraction
        children[id] = child
        return fraction != before ? propagation() : nil
    }
}

// MARK: - Cancelling

extension ProgressState {
    /// The consequences of a request to cancel.
    struct Cancellation: Sendable {
        let children: [Progress]
        let mustCall: Bool
        let propagation: Propagation
    }

    /// Returns nil if the progress is cancelled already.
    mutating func cancelRequested() -> Cancellation? {
        guard !isCancelled else { return nil }
        isCancelled = true
        return Cancellation(
            children: children.values.map(\.progress), mustCall: call(cancellationHandler),
            propagation: propagation())
    }

    /// A replaced handler, to be released without the lock, and whether the caller must start to
    /// call handlers.
    struct Replacement: Sendable {
        let previous: Handler?
        let mustCall: Bool
    }

    mutating func cancellationHandlerSet(_ handler: Handler?) -> Replacement {
        defer { cancellationHandler = handler }
        return Replacement(
            previous: cancellationHandler, mustCall: isCancelled && call(handler))
    }

    /// Adds a handler to the calls. Returns whether the caller must start a thread that calls
    /// handlers.
    private mutating func call(_ handler: Handler?) -> Bool {
        guard let handler else { return false }
        calls.append(handler)
        defer { isCalling = true }
        return !isCalling
    }

    /// Returns the handler to be called next. After nil the caller must stop.
    mutating func nextCall() -> Handler? {
        guard calls.isEmpty else { return calls.removeFirst() }
        isCalling = false
        return nil
    }
}

// MARK: - Observers

extension ProgressState {
    /// Registers a wait for the next change and returns it; nil if something has changed since
    /// `version`, so that there is nothing to wait for.
    mutating func waiterArrived(_ wait: TimedWait, after version: UInt64) -> TimedWait? {
        guard version == self.version else { return nil }
        waiting[ObjectIdentifier(wait)] = wait
        return wait
    }

    mutating func waiterLeft(_ wait: TimedWait) { waiting[ObjectIdentifier(wait)] = nil }
}

extension Int64 {
    /// Returns the sum, or the nearest `Int64` if the sum overflows.
    fileprivate func addingClamped(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }

    /// Returns the difference, or the nearest `Int64` if the difference overflows.
    fileprivate func subtractingClamped(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other > 0 ? .min : .max) : difference
    }
}
