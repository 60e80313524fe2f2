import OperationsRuntime

/// The calls of `cancel()` for operations that a thread cancels together.
///
/// All of these operations have a pending cancellation before the first call: none begins its work,
/// and none ends before its own `cancel()`, which a subclass may have overridden, was called. An
/// override that waits for an operation later in the list would wait for ever. So before this
/// thread blocks in a wait, it makes the remaining calls.
///
/// Unchecked: only the thread that made the round touches it.
final class CancelRound: @unchecked Sendable {
    private let operations: [Operation]
    private var next = 0

    private init(_ operations: [Operation]) { self.operations = operations }

    /// Calls `cancel()` of each operation, in order.
    static func cancel(_ operations: [Operation]) {
        guard !operations.isEmpty else { return }
        let context = ThreadContext.current
        let round = CancelRound(operations)
        context.operationState.cancelRounds.append(round)
        round.callRest()
        context.operationState.cancelRounds.removeLast()
    }

    private func callRest() {
        while next < operations.count {
            let operation = operations[next]
            next += 1
            operation.forceCancel()
        }
    }

    /// Has the cancellations that the calling thread is performing make their remaining calls: the
    /// thread is about to block, perhaps until one of these operations has ended.
    static func willBlock() {
        guard let rounds = ThreadContext.existing?.operationState.cancelRounds else { return }
        for round in rounds { round.threadWillBlock() }
    }

    private func threadWillBlock() {
        // This operation's override of `cancel()` is about to block, perhaps until the operation
        // itself ends.
        if next > 0 { operations[next - 1].markCancelled() }
        callRest()
    }
}
