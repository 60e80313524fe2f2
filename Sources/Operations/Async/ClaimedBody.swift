import OperationsRuntime

/// An async body that a task runs in place of the worker that has claimed its operation. See
/// RunningAsyncBodies.md.
struct ClaimedBody {
    let operation: Unmanaged<Operation>
    /// Alive for as long as the operation executes.
    let queue: Unmanaged<OperationQueue>
    private let claim: Claim
    private let body: Claim.OpenBody
    private let thread: Unmanaged<ThreadContext>

    /// Records that the body of the operation that the thread took last is about to begin.
    @inline(__always)
    init(
        _ operation: Unmanaged<Operation>, of claim: Claim, in queue: Unmanaged<OperationQueue>,
        on thread: ThreadContext
    ) {
        self.operation = operation
        self.queue = queue
        self.claim = claim
        body = claim.open()
        self.thread = .passUnretained(thread)
    }

    /// What comes after the end of a body.
    enum Following {
        /// The body of another operation of the claim, which has begun.
        case body(ClaimedBody)
        /// Nothing for this task. The operation has ended in its claim.
        case nothing
        /// Nothing for this task, and the operation has to be ended by ``endOutside()``.
        case endOutside
    }

    /// Ends the operation, whose body has ended, if the operation is still in the claim that a
    /// worker runs on this thread. Begins the operation that follows there.
    ///
    /// - Parameter mayRun: whether the task may run the body of another operation.
    @inline(__always)
    func end(mayRun: (Operation) -> Bool) -> Following {
        queue._withUnsafeGuaranteedRef { queue in
            guard ThreadContext.isCurrent(thread), queue.recallEpoch == claim.recallEpoch,
                claim.close(body)
            else { return .endOutside }
            var next = operation._withUnsafeGuaranteedRef { $0.endInClaim(claim, in: queue) }
            let thread = ThreadContext.current
            if !claim.isAtCursor {
                claim.returnToCursor()
                // The worker left the queue before it ran the job, and does so before the next one.
                thread.operationState.frame.queue = self.queue.toOpaque()
            }
            if next == nil { next = queue.takeNext(from: claim, context: thread) }
            guard let entry = next else { return .nothing }
            guard let following = entry.operation else {
                claim.handedOver = entry
                return .nothing
            }
            let begins = following._withUnsafeGuaranteedRef { operation in
                guard operation.status.has(.asynchronous), operation.mayShareTask(in: queue),
                    mayRun(operation)
                else {
                    claim.handedOver = entry
                    return false
                }
                thread.operation = following
                guard let begun = operation.beginOnFastPath(claim, in: queue) else {
                    claim.handedOver = queue.takeNext(from: claim, context: thread)
                    return false
                }
                guard begun.phase == .executing else {
                    // Cancelled.
                    operation.leavesWithoutWork(queue)
                    claim.handedOver =
                        operation.endInClaim(claim, in: queue)
                        ?? queue.takeNext(from: claim, context: thread)
                    return false
                }
                return true
            }
            guard begins else { return .nothing }
            return .body(
                ClaimedBody(following, of: claim, in: self.queue, on: thread))
        }
    }

    /// Ends the operation outside of its claim. The task is inside no operation.
    func endOutside() {
        if !operation._withUnsafeGuaranteedRef({ $0.status.has(.claimedAlone) }) {
            queue._withUnsafeGuaranteedRef { $0.detach(operation, body, from: claim) }
        }
        operation.takeUnretainedValue().finish()
    }
}
