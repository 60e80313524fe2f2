// The throwing variants of a queue's methods.

extension OperationQueue {
    /// Adds an operation as ``addOperation(_:)-(Operation)`` does, but throws where that method
    /// stops the program.
    ///
    /// An override of `addOperation(_:)` is not called.
    ///
    /// - Throws: ``OperationMisuse`` with kind `inQueue`, `alreadyExecuting`, `alreadyFinished`,
    ///   `costTooHigh` or `scopeEnded`.
    public final func addOperationChecked(_ operation: Operation) throws(OperationMisuse) {
        try tryEnqueue(operation)
    }

    /// Adds several operations at once, or none if one of them cannot be added.
    ///
    /// While the operations are being added, no other thread can start them or add them elsewhere.
    /// An operation that finishes by itself in that moment, because its subclass says so, counts as
    /// added.
    ///
    /// - Throws: ``OperationMisuse`` with kind `inQueue`, `alreadyExecuting`, `alreadyFinished`,
    ///   `costTooHigh`, `duplicateOperation` or `scopeEnded`.
    /// - Complexity: O(n).
    public final func addOperationsChecked(_ operations: [Operation]) throws(OperationMisuse) {
        try tryAdd(operations)
    }

    /// Sets ``maxConcurrentOperationCount``, but throws where the property's setter stops the
    /// program.
    ///
    /// - Throws: ``OperationMisuse`` with kind `invalidWidth`.
    public final func setMaxConcurrentOperationCountChecked(
        _ count: Int
    ) throws(OperationMisuse) {
        try checkWidth(count)
        maxConcurrentOperationCount = count
    }
}
