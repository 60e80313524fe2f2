/// The order in which a queue starts its operations.
public enum OperationQueueOrder: Sendable, Hashable, CaseIterable {
    /// Starts the ready operation with the highest priority first. Among equal priorities, the
    /// operation that was added first, or was given its priority first, goes first.
    ///
    /// An operation that had to wait for units of a ``ConcurrencyBudget`` keeps its turn. When it
    /// is given its units and a slot is free, it starts before the operations that are ready, even
    /// those with a higher priority that were added since. The same holds for ``lifo``.
    case priority
    /// Starts operations strictly in the order in which they were added, first in, first out,
    /// whatever their priorities.
    ///
    /// An operation that is not ready, or that waits for units of a ``ConcurrencyBudget``, holds
    /// back all operations that were added behind it. A cancelled operation does not. With a width
    /// of 1 each operation starts after the one before it has finished; with a larger width several
    /// may run at a time. If an operation depends on one that was added behind it to the same
    /// queue, neither of the two ever starts.
    case fifo
    /// Starts the ready operation with the highest priority first. Among equal priorities, the
    /// operation that was added last goes first.
    case lifo
}
