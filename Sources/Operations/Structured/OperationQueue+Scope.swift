/// Calls a function with a queue, and returns when all operations in the queue have ended.
///
/// ```swift
/// let sizes = try await withOperationQueue { queue in
///     let pictures = paths.map { path in queue.add { try decode(path).size } }
///     return try await pictures.values()
/// }
/// ```
///
/// The scope waits for the function and for every operation in the queue, including operations that
/// are added meanwhile. It ends early when one of these events comes first:
///
/// - an operation of the queue fails, and no ``DependencyCondition/failure`` dependency handles it,
///   neither on that operation nor on an operation that is cancelled because of it. Catching the
///   error from ``TypedOperation/value`` does not count as handling it. Add the operation that runs
///   on a failure together with the operation that may fail, or before it: the failure may come at
///   once;
/// - the body throws;
/// - the calling task is cancelled.
///
/// Then all other operations, and all that are added from then on, are cancelled with a
/// ``Operation/cancellationReason`` that names the event. When all have ended, the scope throws the
/// error of the event, or `CancellationError`; after a cancellation of the task an error of the
/// body takes precedence. Later errors are dropped, as by a task group. An operation that is
/// cancelled by hand does not end the scope.
///
/// Bodies of operations have the calling task's task-local values and its priority, whatever kind
/// of operation they belong to. An operation made by `queue.add` has the values that were in force
/// where `add` was called.
///
/// The queue is a normal queue, but it belongs to the scope: adding to it later stops the program
/// with a message. While the queue is suspended, or its width is 0, the scope does not end.
///
/// - Parameters:
///   - name: a name for people to read; see ``OperationQueue/name``.
///   - width: how many operations may run at the same time.
///   - isolation: the actor on which the body runs: the caller's.
///   - body: a function that adds operations. It runs on the calling task.
/// - Returns: the result of the body.
/// - Throws: the error that ended the scope early.
@discardableResult
public func withOperationQueue<Value>(
    name: String? = nil,
    width: Int = OperationQueue.defaultMaxConcurrentOperationCount,
    isolation: isolated (any Actor)? = #isolation,
    _ body: (OperationQueue) async throws -> Value
) async throws -> Value {
    let scope = QueueScope()
    let tasks = TaskLocalExecutor()
    let queue = OperationQueue(tasks: tasks, companion: scope)
    if let name { queue.name = name }
    queue.maxConcurrentOperationCount = width
    return try await withTaskCancellationHandler {
        // A closure runs on the caller's actor if it mentions `isolation`.
        _ = isolation
        let result: Result<Value, any Error>
        do {
            result = .success(try await body(queue))
        } catch {
            scope.end(.thrown(error), of: queue)
            result = .failure(error)
        }
        await scope.close(queue)
        tasks.close()
        return try result.outcome(after: scope.earlyEnd)
    } onCancel: {
        scope.end(.taskCancelled, of: queue)
    }
}
