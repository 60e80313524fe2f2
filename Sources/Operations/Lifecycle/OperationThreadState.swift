import OperationsRuntime

/// What operations keep for one thread.
struct OperationThreadState {
    /// What the thread is inside.
    struct Frame {
        /// The address of the operation that the thread runs. It stays alive because it is running.
        var operation: UnsafeMutableRawPointer?
        /// The address of the queue that runs the operation.
        var queue: UnsafeMutableRawPointer?
        /// The task that was the current task when the thread entered the operation, if there was
        /// one.
        var task: UInt?
    }

    var frame = Frame()
    /// The frames around the current one. A wait, or the work of a main queue, may run other
    /// operations inside an operation.
    var outer: [Frame] = []
    /// The claim of which the thread runs a block. No operation was made for the block, or another
    /// thread made one.
    var blockClaim: UnsafeMutableRawPointer?
    /// The rank of the quality of service of the block that the thread runs.
    var blockRank = 0
    /// Set while `startChecked()` calls `start()`.
    var checkedStart: CheckedStart?
    /// Set while the thread runs the work of a `QueueDriver`, one item after the other.
    var isDriven = false
    /// The operation that the thread is about to add, if that may not be ready at once, with its
    /// mark.
    ///
    /// The mark is needed because a later operation may have the address of an earlier one.
    var lastAdded: (operation: UInt, mark: UInt64)?
    /// The address of the operation whose `cancel()` this thread calls only to stop the current
    /// attempt.
    var stopped: UnsafeMutableRawPointer?
    /// The cancellations that this thread performs, the outermost first.
    var cancelRounds: [CancelRound] = []
    /// The addresses of the finished operations that this thread is about to remove from their
    /// queues.
    var leaving: [UnsafeMutableRawPointer] = []
}

extension ThreadContext {
    /// What operations keep for this thread.
    var operationState: OperationThreadState {
        @inline(__always) _read { yield placeOfOperationState.pointee }
        @inline(__always) _modify { yield &placeOfOperationState.pointee }
    }

    /// Where ``operationState`` is, for code that uses it several times.
    var placeOfOperationState: UnsafeMutablePointer<OperationThreadState> {
        @inline(__always) get { state { OperationThreadState() } }
    }
}
