import Synchronization

/// A task that begins on a worker's thread, in the place of the worker, and parts from it when it is
/// suspended. See Scheduling.md, "Async bodies".
///
/// Unchecked: `thread` is written while nobody else has the task; `isOver` is touched on that thread only.
class ImmediateTask: @unchecked Sendable {
    /// Where its task runs.
    final let executor = PoolExecutor()
    /// The thread that it is with.
    final var thread: Unmanaged<ThreadContext>?
    private final var isOver = false
    /// Set when the worker has taken the operation that is suspended out of its batch.
    private final let hasParted = Atomic<Bool>(false)

    /// The worker's side: lets the task go on, up to where it has done its part, or is suspended.
    ///
    /// - Returns: false if it was suspended. Then the operation is no more in the batch, and the task ends it.
    final func run(
        on thread: ThreadContext, of batch: Batch, in queue: OperationQueue, _ go: () -> Void
    ) -> Bool {
        self.thread = .passUnretained(thread)
        isOver = false
        hasParted.store(false, ordering: .relaxed)
        go()
        if isOver { return true }
        // Retained for the task, which releases it.
        _ = queue.part(from: batch, keepingRest: true)
        hasParted.store(true, ordering: .releasing)
        return false
    }

    /// The task's side: whether it has not been suspended since the worker let it go on. If it has been, then
    /// the worker has done its part on return.
    final var isWithWorker: Bool {
        if isOnItsThread, !hasParted.load(ordering: .acquiring) { return true }
        var backoff = Backoff()
        while !hasParted.load(ordering: .acquiring) { backoff.pause() }
        return false
    }

    final var isOnItsThread: Bool { ThreadContext.isCurrent(thread) }

    /// The task's side: it has done its part with the worker waiting for it.
    final func endTurn() { isOver = true }
}
