// How the body of an operation learns of its cancellation, and what tells that it did not ask.

import OperationsRuntime
import Synchronization

extension Operation {
    /// Whether the operation in whose body this code runs is cancelled.
    ///
    /// Outside an operation, whether the current task is cancelled. A body that awaits may use
    /// `Task.isCancelled` as well. A body that does not await has no task, and `Task.isCancelled`
    /// is always false in it.
    public static var isCancelled: Bool { current?.isCancelled ?? Task.isCancelled }

    /// Throws if the operation in whose body this code runs is cancelled.
    ///
    /// ```swift
    /// queue.add("index") {
    ///     for file in files {
    ///         try Operation.checkCancellation()
    ///         try index(file)
    ///     }
    /// }
    /// ```
    ///
    /// Also throws once the time of a ``OperationTrait/timeout(_:)`` is over. For a body that
    /// blocks in one long call, see ``onCancel(_:)-(()->Void)``.
    ///
    /// - Throws: ``OperationCancellation`` with the reason; outside an operation
    ///   `CancellationError` if the current task is cancelled.
    public static func checkCancellation() throws {
        guard let current else { return try Task.checkCancellation() }
        guard current.isCancelled else { return }
        throw OperationCancellation(
            operation: current.label, reason: current.reasonAndFailures.reason)
    }
}

// MARK: Bodies that do not ask

extension Operation {
    /// Notes the time at which the running body was told to stop. If nothing has seen the
    /// cancellation when the body returns, long after that, this is reported.
    ///
    /// A body with a task is left out: it asks the task.
    @inline(never)
    final func stopRequested() {
        guard !hasTask, !replacesStart, !ThreadContext.isInside(self) else { return }
        withExtras { extras in
            guard status.phase == .executing else { return }
            lifecycle.insert(.hasEndObservers)
            extras.stopTime = monotonicNanoseconds()
        }
    }

    /// Notes that some code has seen the cancellation, probably the body.
    @inline(never)
    final func stopNoticed() {
        guard status.phase == .executing, existingExtras != nil else { return }
        withExtras { $0.stopTime = nil }
    }

    /// Reports that the body has just returned, if that is long after it was told to stop.
    @inline(never)
    final func reportIgnoredStop(at time: UInt64) {
        let nanoseconds = monotonicNanoseconds() - time
        guard nanoseconds >= IgnoredStop.patience.load(ordering: .relaxed) else { return }
        let finding = OperationsDiagnostics.Finding.ignoredCancellation(
            operation: label, duration: .nanoseconds(Int64(clamping: nanoseconds)))
        Self.performOutside { OperationsDiagnostics.handler(finding) }
    }
}

enum IgnoredStop {
    /// How many nanoseconds a cancelled body may go on before that is reported; changed by tests.
    static let patience = Atomic<UInt64>(1_000_000_000)
}
