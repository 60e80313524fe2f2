import OperationsRuntime
import Synchronization

/// A failure, shared by the operation that failed and the operations that were cancelled because of
/// it.
///
/// When the last of them releases the record and nothing has observed the failure, it is reported.
final class FailureRecord: Sendable {
    let operation: String
    let error: any Error
    private let isObserved = Atomic<Bool>(false)
    private let handled = Atomic<Bool>(false)
    private let isTaken = Atomic<Bool>(false)

    /// A function that reports the failure if nothing observes it, as a structure: the lock would
    /// wrap a bare function in further ones at each access.
    private struct Report {
        var call: (@Sendable () -> Bool)?
    }

    private let report = Locked(Report())

    private struct Decider {
        weak var queue: OperationQueue?
    }

    /// The queue whose companion decides what follows from the failure.
    private let decider = Locked(Decider())

    init(operation: String, error: any Error) {
        self.operation = operation
        self.error = error
    }

    deinit {
        guard !isObserved.load(ordering: .acquiring) else { return }
        if let report = report.withLock({ $0.call }), report() { return }
        OperationsDiagnostics.handler(.unobservedFailure(operation: operation, error: error))
    }

    /// Marks the failure as observed.
    func observe() { isObserved.store(true, ordering: .releasing) }

    /// Marks the failure as handled: an operation runs because of it, or waits to do so.
    func handle() { handled.store(true, ordering: .releasing) }

    /// Has a function report the failure if nothing observes it. If the function returns false, and
    /// if there is none, the failure is a finding of ``OperationsDiagnostics``.
    func report(unlessObserved report: @escaping @Sendable () -> Bool) {
        self.report.withLock { $0.call = report }
    }

    /// Returns true once: for the companion of this queue, which is to decide what follows from the
    /// failure.
    func take(in queue: OperationQueue) -> Bool {
        guard !isTaken.exchange(true, ordering: .acquiringAndReleasing) else { return false }
        decider.withLock { $0.queue = queue }
        return true
    }

    /// The queue whose companion decides what follows from the failure, if it is still there.
    var deciding: OperationQueue? { decider.withLock { $0.queue } }

    /// Whether an operation runs because of the failure, did so, or waits to do so.
    var isHandled: Bool { handled.load(ordering: .acquiring) }
}

extension Operation {
    /// Whether the program expects failures of the operation (``OperationTrait/mayFail``).
    package final var failureIsExpected: Bool {
        guard existingExtras != nil else { return false }
        return withExtras { $0.mayFail }
    }

    /// Has a function report the operation's failure if nothing observes it until the operation,
    /// and all that were cancelled because of it, are released.
    ///
    /// - Parameter report: called on the thread of the last release; it must not retain the
    ///   operation. If it returns false, the failure is reported as a finding.
    package final func reportFailure(unlessObserved report: @escaping @Sendable () -> Bool) {
        guard existingExtras != nil else { return }
        withExtras { $0.failure }?.report(unlessObserved: report)
    }
}
