/// The calls of `cancel()` of operations that are cancelled together, on the thread that cancels them.
///
/// All of these operations are doomed before the first call: none begins its work, and none ends before its
/// own `cancel()`, which a subclass may have overridden, was called. An override that waits for an operation
/// later in the list would wait for ever. So before this thread blocks in a wait, it makes the calls that are
/// left.
///
/// Unchecked: only the thread that made it touches it.
final class CancelRound: @unchecked Sendable {
    private let operations: [Operation]
    private var next = 0

    private init(_ operations: [Operation]) { self.operations = operations }

    /// Calls `cancel()` of each, in their order.
    static func cancel(_ operations: [Operation]) {
        guard !operations.isEmpty else { return }
        let context = ThreadContext.current
        let round = CancelRound(operations)
        context.cancelRounds.append(round)
        round.callRest()
        context.cancelRounds.removeLast()
    }

    private func callRest() {
        while next < operations.count {
            let operation = operations[next]
            next += 1
            operation.cancel()
            // An override of `cancel()` may not call `super`.
            operation.markCancelled()
        }
    }

    /// Makes the calls that are left: the calling thread is about to block, perhaps until one of these
    /// operations has ended.
    static func willBlock() {
        guard let rounds = ThreadContext.existing?.cancelRounds, !rounds.isEmpty else { return }
        for round in rounds {
            // The override of this one is what blocks, perhaps until the operation itself has ended.
            if round.next > 0 { round.operations[round.next - 1].markCancelled() }
            round.callRest()
        }
    }
}
