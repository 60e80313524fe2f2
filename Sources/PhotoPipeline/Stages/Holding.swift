import Operations
import Synchronization

/// Runs a closure that adds operations and waits for them, while units of a budget are taken for
/// all of them together.
///
/// A budget's units belong to one operation. What several operations need one after the other, such
/// as the memory of pixels that they hand on, is therefore taken by an operation around them, which
/// waits for them without a thread.
///
/// - Parameters:
///   - units: what is taken, as a trait.
///   - queue: where the operation around them waits for its units.
///   - name: what a timeline calls it.
/// - Returns: what the closure has returned; nil if the calling task was cancelled before there
///   were enough units. One that has begun is not stopped: cancel what it waits for.
func holding<Value: Sendable>(
    _ units: OperationTrait, in queue: OperationQueue, named name: String,
    _ body: @escaping @Sendable () async -> Value
) async -> Value? {
    let value = Shared<Value?>(nil)
    let operation = AsyncOperation {
        let result = await body()
        value.content.withLock { $0 = result }
    }
    operation.name = name
    operation.apply(units)
    queue.addOperation(operation)
    await withTaskCancellationHandler {
        await operation.waitUntilFinished()
    } onCancel: {
        operation.cancel()
    }
    return value.content.withLock { $0 }
}

private final class Shared<Content: Sendable>: Sendable {
    let content: Mutex<Content>
    init(_ content: Content) { self.content = Mutex(content) }
}
