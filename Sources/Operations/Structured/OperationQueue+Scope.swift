/// Calls a function with a queue, and returns when the function has returned and all operations in the queue
/// have ended, those included that were added by others meanwhile.
///
/// ```swift
/// let sizes = try await withOperationQueue { queue in
///     let pictures = paths.map { path in queue.add { try decode(path).size } }
///     return try await pictures.values()
/// }
/// ```
///
/// The scope ends early by whatever comes first:
///
/// - an operation of the queue fails, and there is nothing to run on its failure: no dependency
///   ``DependencyCondition/failure`` on it, nor on what is cancelled because of it. That somebody awaits its
///   ``TypedOperation/value`` and catches the error changes nothing. Add what runs on a failure together with
///   the operation, or before it: it may fail at once;
/// - the body throws;
/// - the calling task is cancelled.
///
/// Then all other operations are cancelled, with a ``Operation/cancellationReason`` that names this, and so is
/// what is added from then on. When all have ended, the scope throws that error, or `CancellationError`; after
/// a cancellation of the task what the body throws comes first. Errors that came later are dropped, as by a
/// task group. An operation that is cancelled by hand does not end the scope.
///
/// Bodies of operations have the calling task's task-local values and its priority, whatever kind of operation
/// they are. What `queue.add` makes has the values that were in force where it was called.
///
/// The queue is one like any other, but it belongs to the scope: to add to it later stops the program with a
/// sentence. While it is suspended, or its width is 0, the scope does not end.
///
/// - Parameters:
///   - name: a name for people; see ``OperationQueue/name``.
///   - width: how many operations may run at the same time.
///   - isolation: the actor on which the body runs: the caller's.
///   - body: adds operations. It runs on the calling task.
/// - Returns: what the body returns.
/// - Throws: what ended it early.
@discardableResult
public func withOperationQueue<Value>(
    name: String? = nil,
    maxConcurrentOperationCount width: Int = OperationQueue.defaultMaxConcurrentOperationCount,
    isolation: isolated (any Actor)? = #isolation,
    _ body: (OperationQueue) async throws -> Value
) async throws -> Value {
    let scope = QueueScope()
    let tasks = TaskLocalExecutor()
    let queue = OperationQueue(tasks: tasks, scope: scope)
    if let name { queue.name = name }
    queue.maxConcurrentOperationCount = width
    return try await withTaskCancellationHandler {
        // A closure is on the caller's actor if it mentions it.
        _ = isolation
        let result: Result<Value, any Error>
        do {
            result = .success(try await body(queue))
        } catch {
            scope.end(.bodyFailed(error), of: queue)
            result = .failure(error)
        }
        await scope.close(queue)
        tasks.close()
        return try scope.outcome(result)
    } onCancel: {
        scope.end(.taskCancelled, of: queue)
    }
}
