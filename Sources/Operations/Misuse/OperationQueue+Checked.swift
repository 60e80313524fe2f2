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
        try companion?.willAdd(operations)
        defer { companion?.didAdd(operations, to: self) }
        try reserve(operations)
        add(operations, reserved: true)
    }

    /// Reserves the operations, so that no other thread can start them or add them elsewhere until
    /// they are added here. If one of them cannot be reserved, none is.
    func reserve(_ operations: [Operation]) throws(OperationMisuse) {
        for operation in operations where !operation.status.has(.fastPath) {
            try checkAddition(of: operation)
        }
        for (index, operation) in operations.enumerated()
        where operation.exchange({ $0.reserved() }) == nil {
            let misuse = misuseOfAddition(operation, among: operations)
            for other in operations[..<index] { other.lifecycle.remove(.reserved) }
            throw misuse
        }
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
