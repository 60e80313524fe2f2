extension OperationQueue {
    /// Raises the total of the queue's progress for operations that are about to be added.
    final func count(_ operations: [Operation]) {
        let counted = operations.filter { !$0.status.has(.barrier) && !$0.isPieceOfTask }
        guard !counted.isEmpty else { return }
        for operation in counted { operation.withExtras { $0.isCounted = true } }
        progress.raiseTotal(by: Int64(counted.count))
    }
}
