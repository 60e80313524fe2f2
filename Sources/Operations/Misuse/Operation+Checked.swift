// The throwing variants of an operation's methods. Each pair of methods shares the step that
// decides, so that both refuse the same things with the same message.

import OperationsRuntime

extension Operation {
    /// Starts the operation as ``start()`` does, but throws where that method stops the program.
    ///
    /// A subclass that overrides `start()` decides for itself what happens when several threads
    /// start the operation at the same moment; anything else is checked here.
    ///
    /// - Throws: ``OperationMisuse`` with kind `alreadyExecuting`, `notReady` or `inQueue`.
    public final func startChecked() throws(OperationMisuse) {
        if let misuse = misuseOfStart { throw misuse }
        if isFinished { return }
        let context = ThreadContext.current
        let outer = context.operationState.checkedStart
        context.operationState.checkedStart = CheckedStart(operation: ObjectIdentifier(self))
        start()
        let misuse = context.operationState.checkedStart?.misuse
        context.operationState.checkedStart = outer
        if let misuse { throw misuse }
    }

    /// Adds a dependency as ``addDependency(_:)`` does, but throws where that method stops the
    /// program, and refuses a dependency that would close a cycle, which that method only reports.
    ///
    /// A refused dependency leaves the graph as it was. If several threads at the same moment add
    /// dependencies that close a cycle together, all of these may be refused. An override of
    /// `addDependency(_:)` is not called.
    ///
    /// - Throws: ``OperationMisuse`` with kind `selfDependency` or `dependencyCycle`.
    /// - Complexity: O(1) if nothing waits for this operation, or the dependency waits for nothing;
    ///   otherwise O(edges of everything that the dependency waits for).
    public final func addDependencyChecked(_ dependency: Operation) throws(OperationMisuse) {
        if dependency === self { throw .selfDependency(self) }
        guard let edge = connect(to: dependency),
            let cycle = CycleSearch.cycle(through: dependency, before: self)
        else { return }
        disconnect(from: dependency, refused: edge)
        throw .dependencyCycle(cycle.map(\.label))
    }
}

extension BlockOperation {
    /// Adds a block as ``addExecutionBlock(_:)`` does, but throws where that method stops the
    /// program.
    ///
    /// - Throws: ``OperationMisuse`` with kind `blockAddedAfterStart`.
    public final func addExecutionBlockChecked(
        _ block: @escaping @Sendable () -> Void
    ) throws(OperationMisuse) {
        guard append(block) else { throw .addingBlock(to: self) }
    }
}
