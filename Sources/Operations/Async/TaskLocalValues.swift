import OperationsRuntime
import Synchronization

extension Operation {
    /// Whether the body is async, so that a task runs it.
    package final var hasAsyncBody: Bool { hasTask }
}

/// The task-local values of the code that made this object, for code that does not await and runs
/// later on other threads.
///
/// A task inherits the values, and is held back until there is such code, which it runs in the
/// place of the caller.
package final class TaskLocalValues: Sendable {
    private let task: PreparedTask
    private let isRepeated: Bool
    private let isInUse = Atomic<Bool>(false)

    /// Takes the values for the body of an operation that is about to be added.
    package init(for operation: Operation) {
        isRepeated = operation.mayRunAgain || !operation.status.has(.fastPath)
        // The operation around the calling code is not the one that runs in the task.
        task = TaskContext.$body.withValue(nil) { PreparedTask(mayBeDriven: false) }
    }

    deinit { task.run(nil) }

    /// Runs code with the values. Code that runs while other code does, on another thread, has not
    /// got them, nor has code on a thread that is no worker.
    package func run(_ body: () -> Void) {
        // The main thread, or a dispatch queue, may have code that asks for its actor.
        guard ThreadContext.existing?.activeWorker != nil,
            !isInUse.exchange(true, ordering: .acquiringAndReleasing)
        else { return body() }
        withoutActuallyEscaping(body) { body in
            nonisolated(unsafe) let body = body
            task.run(isLast: !isRepeated) { body() }
        }
        if isRepeated { isInUse.store(false, ordering: .releasing) }
    }
}
