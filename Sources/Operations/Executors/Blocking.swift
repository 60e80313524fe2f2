import OperationsRuntime

/// Runs a function that may block, on a worker thread of this library.
///
/// ```swift
/// let bytes = try await blocking { try read(descriptor) }
/// ```
///
/// The function runs as a part of the current task: with its priority and its task-local values,
/// and `Task.isCancelled` is true in it once the task is cancelled. A call that blocks does not end
/// by that; to interrupt it, see `withTaskCancellationHandler`.
///
/// Swift's own thread pool has one thread for each processor, and a task that blocks one of them
/// holds up all other tasks. Here another worker takes over at once: up to 512 functions can block
/// at a time, and further ones wait for a thread (<doc:ThreadStarvation>). In an operation, and
/// in a task that prefers ``WorkerTaskExecutor`` or ``OperationQueue/executor``, the function runs
/// in place, because the task is on a worker already.
///
/// To limit how many functions block at a time, use an ``OperationQueue`` with a width.
///
/// - Parameter body: the function; it runs once, also if the task is cancelled already.
/// - Returns: what `body` returns.
/// - Throws: what `body` throws.
@concurrent
public func blocking<Output, Failure: Error>(
    _ body: sending () throws(Failure) -> sending Output
) async throws(Failure) -> sending Output {
    if ThreadContext.isForBlocking { return try WorkerPool.compensating(body) }
    return try await withTaskExecutorPreference(WorkerTaskExecutor.shared) { () throws(Failure) in
        try WorkerPool.compensating(body)
    }
}

extension ThreadContext {
    /// Whether the calling thread is a worker, or a thread that stands for one in a test.
    fileprivate static var isForBlocking: Bool {
        guard let existing else { return false }
        return existing.activeWorker != nil || existing.operationState.isDriven
    }
}
