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
/// - an operation of the queue fails, and no operation handles that: none runs on this failure, or
///   on that of an operation that is cancelled because of it
///   (``OperationQueue/add(_:onFailureOf:body:file:line:)``, ``DependencyCondition/failure``).
///   A body that is to catch the error from ``TypedOperation/value`` and go on adds the operation
///   with ``OperationTrait/mayFail``; <doc:ScopesAndConcurrentMaps> says why. While the body runs,
///   it may still add the operation that handles a failure, so the scope looks for one when the
///   body returns, or waits for the queue or for one of its operations;
/// - the body throws;
/// - the calling task is cancelled.
///
/// Then all other operations, and all that are added from then on, are cancelled with a
/// ``Operation/cancellationReason`` that names the event. When all have ended, the scope throws the
/// error of the event, or `CancellationError`; after a cancellation of the task an error of the
/// body takes precedence. Later errors are dropped, as by a task group. An operation that is
/// cancelled by hand does not end the scope, and neither does a failure of one that
/// ``OperationTrait/mayFail``.
///
/// With the policy ``OperationFailurePolicy/collect`` failures do not end the scope early. When all
/// operations have ended, it throws those that no operation handles, as ``CollectedErrors``.
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
///   - policy: what a failure does to the other operations.
///   - isolation: the actor on which the body runs: the caller's.
///   - body: a function that adds operations. It runs on the calling task.
/// - Returns: the result of the body.
/// - Throws: the error that ended the scope early; ``CollectedErrors``, if it collects them.
@discardableResult
public func withOperationQueue<Value>(
    name: String? = nil,
    width: Int = OperationQueue.defaultMaxConcurrentOperationCount,
    onFailure policy: OperationFailurePolicy = .cancel,
    isolation: isolated (any Actor)? = #isolation,
    _ body: (OperationQueue) async throws -> Value
) async throws -> Value {
    let scope = QueueScope(policy)
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
            scope.bodyReturned(queue)
        } catch {
            scope.end(.thrown(error), of: queue)
            result = .failure(error)
        }
        await scope.close(queue)
        tasks.close()
        let collected = scope.collected()
        let value = try result.outcome(after: scope.earlyEnd)
        if let collected { throw collected }
        return value
    } onCancel: {
        scope.end(.taskCancelled, of: queue)
    }
}
