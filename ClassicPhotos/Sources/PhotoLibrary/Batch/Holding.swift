import Operations
@_spi(ClassicPhotos) import PhotoPipeline
import Synchronization

/// Runs a closure that adds operations and waits for them, while holding units of a budget for all
/// of these operations together.
///
/// The units of a budget belong to a single operation. If several operations need the units one
/// after another, such as the memory of a file that they pass on, an enclosing operation takes the
/// units. The enclosing operation waits for the others without occupying a thread. None of them may
/// need units of the same budget.
///
/// - Parameters:
///   - units: the units to take, as a trait.
///   - queue: the queue in which the enclosing operation waits for its units.
///   - name: the name of the enclosing operation in a timeline.
/// - Throws: the error of the closure.
/// - Returns: the result of the closure; nil if the calling task was cancelled before enough units
///   were available. A closure that has begun is not stopped: cancel the operations that it waits
///   for.
func holding<Value: Sendable, Failure: Error>(
    _ units: OperationTrait, in queue: OperationQueue, named name: String,
    _ body: @escaping @Sendable () async throws(Failure) -> Value
) async throws(Failure) -> Value? {
    let outcome = Outcome<Value, Failure>()
    let operation = TypedOperation<Void> {
        let result: Result<Value, Failure>
        do throws(Failure) {
            result = .success(try await body())
        } catch {
            result = .failure(error)
        }
        outcome.result.withLock { $0 = result }
    }
    operation.name = name
    operation.apply(units)
    queue.addOperation(operation)
    await withTaskCancellationHandler {
        await operation.waitUntilFinished()
    } onCancel: {
        operation.cancel()
    }
    return try outcome.result.withLock { $0 }?.get()
}

/// The outcome of a closure. An operation that was cancelled has no output, even if its closure has
/// returned one.
private final class Outcome<Value: Sendable, Failure: Error>: Sendable {
    let result = Mutex<Result<Value, Failure>?>(nil)
}
