import OperationsRuntime

/// How many operations a queue has seen, and what has become of them, at one moment.
package struct QueueTotals: Sendable {
    /// The operations that were added so far, without barriers.
    package let added: Int
    /// Those of them that have not finished.
    package let unfinished: Int
    /// The barriers that were added so far.
    package let barriersAdded: Int
    /// Those of them that have not finished.
    package let unfinishedBarriers: Int
    package let isSuspended: Bool
    /// How many operations may run at the same time; nil if the queue sets no limit.
    package let width: Int?
}

extension OperationQueue {
    package final var totals: QueueTotals {
        snapshot { state in
            QueueTotals(
                added: state.ring.tail - state.barriersAdded, unfinished: state.operationCount,
                barriersAdded: state.barriersAdded, unfinishedBarriers: state.barriers.count,
                isSuspended: state.slots.isSuspended,
                width: state.slots.isLimited ? state.slots.width : nil)
        }
    }
}
