import OperationsRuntime
import Synchronization

/// A task that begins on a worker's thread, in place of the worker, and detaches from the worker
/// when the task is suspended. See RunningAsyncBodies.md.
///
/// Unchecked: `thread` is written while no other thread has access to the task; `isOver` is
/// accessed only on `thread`.
class ImmediateTask: @unchecked Sendable {
    /// The executor of the task.
    final let executor = PoolExecutor()
    /// The thread that the task is with.
    final var thread: Unmanaged<ThreadContext>?
    private final var isOver = false
    /// Set when the worker has taken the suspended operation out of its claim.
    private final let isDetached = Atomic<Bool>(false)

    /// The worker's side: resumes the task and returns when the task has ended its turn or is
    /// suspended.
    ///
    /// - Returns: False if the task was suspended. In that case the operation is no longer in the
    ///   claim, and the task ends the operation.
    final func run(
        on thread: ThreadContext, of claim: Claim, in queue: OperationQueue, _ resume: () -> Void
    ) -> Bool {
        self.thread = .passUnretained(thread)
        isOver = false
        isDetached.store(false, ordering: .relaxed)
        resume()
        if isOver { return true }
        // The operation is retained for the task, which releases it.
        _ = queue.detachCurrent(from: claim, keepingRest: true)
        isDetached.store(true, ordering: .releasing)
        return false
    }

    /// The task's side: whether the task has not been suspended since the worker resumed it. If the
    /// task has been suspended, this property waits until the worker has taken the operation out of
    /// the claim.
    final var isWithWorker: Bool {
        if isOnItsThread, !isDetached.load(ordering: .acquiring) { return true }
        var backoff = Backoff()
        while !isDetached.load(ordering: .acquiring) { backoff.pause() }
        return false
    }

    final var isOnItsThread: Bool { ThreadContext.isCurrent(thread) }

    /// The task's side: records that the task has ended its turn while the worker waits for it.
    final func endTurn() { isOver = true }
}
