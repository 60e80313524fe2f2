extension AdditionTurn {
    /// Each operation is counted, also if a later step cancels it.
    fileprivate static var counting: AdditionTurn { AdditionTurn(rank: 20) }
}

/// Counts each addition to a queue in the queue's progress.
private struct CountingStep: AdditionStep {
    var turn: AdditionTurn { .counting }

    func add(
        _ addition: Addition, to queue: OperationQueue, next: Next
    ) throws(OperationMisuse) {
        queue.count(addition.operations)
        try next(addition)
        // A later step may have cancelled an operation, which has then ended by itself.
        for operation in addition.operations where operation.status.phase == .finished {
            operation.completeCountedUnit(in: queue)
        }
    }
}

extension OperationQueue {
    /// Whether the ``progress`` of the queue counts each operation that is added; false unless set.
    ///
    /// ```swift
    /// queue.progressCountsAdditions = true
    /// for url in urls { queue.add { try await download(url) } }
    /// for await fraction in queue.progress.fractions { show(fraction) }
    /// ```
    ///
    /// From then on each addition raises the total by one unit, and each operation completes its
    /// unit when it ends: also one that was cancelled, before or during its work, and one that
    /// overrides ``Operation/start()``. Barriers, pieces of tasks, and operations that are in the
    /// queue already, are not counted. The fraction falls when operations are added.
    public final var progressCountsAdditions: Bool {
        get { hasStep(.counting) }
        set {
            if newValue {
                _ = progress
                insert(CountingStep())
            } else {
                event { _ in removeStepUnderLock(.counting) }
            }
        }
    }

    /// Raises the total of the queue's progress for operations that are about to be added.
    fileprivate final func count(_ operations: [Operation]) {
        let counted = operations.filter { !$0.status.has(.barrier) && !$0.isPieceOfTask }
        guard !counted.isEmpty else { return }
        for operation in counted { operation.withExtras { $0.isCounted = true } }
        progress.raiseTotal(by: Int64(counted.count))
    }
}
