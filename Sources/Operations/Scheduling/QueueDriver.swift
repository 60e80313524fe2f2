import OperationsRuntime

/// Runs the operations of its queues in place of the workers, one event at a time, and decides
/// their order. See DrivenQueues.md.
///
/// The methods are called with no lock held, on any thread.
package protocol QueueDriver: AnyObject, Sendable {
    /// Called when the queue has an operation to start, which `takeNext()` returns. Not called
    /// again before `takeNext()` is called.
    func offer(_ queue: OperationQueue)
    /// Returns the operation's name for a list of events that people read.
    func name(of operation: Operation, in queue: OperationQueue) -> String
    /// Called when an operation is being started whose body goes on by itself, in pieces.
    func begins(_ body: any DrivenBody)
    /// Called when a piece of a body must be run, by `body.run(_:)`.
    ///
    /// - Parameter isFirst: whether the start of the operation includes the piece.
    func enqueue(_ job: UnownedJob, of body: any DrivenBody, isFirst: Bool)
    /// Called when a completion block must be run.
    func submit(_ block: @escaping @Sendable () -> Void, of operation: Operation)
    /// Called when a task that is no operation of the queue begins to wait for the queue or for one
    /// of its operations.
    func waitBegins(in queue: OperationQueue)
    /// Runs a body that belongs to the main actor. The body has returned on return.
    func performOnMainActor(_ body: @Sendable () -> Void)
    /// Runs the blocks of one operation, in any order. All of them have been run on return.
    func runAll(_ blocks: [@Sendable () -> Void], of operation: Operation)
}

/// The executor of one body, on behalf of the driver of its queue.
package protocol DrivenBody: TaskExecutor {
    /// The driver's name for the operation.
    var name: String { get }
    /// Runs a piece of the body on the calling thread.
    func run(_ job: UnownedJob)
}

extension Operation {
    /// Makes the driver run the completion block. If there is no driver, the calling worker calls
    /// the block at the end of what it does now, or another worker does at once.
    final func submit(
        _ completionBlock: @escaping @Sendable () -> Void, to driver: (any QueueDriver)?
    ) {
        if let driver {
            driver.submit(completionBlock, of: self)
        } else if let worker = ThreadContext.existing?.activeWorker, worker.workerClass >= .usual {
            // On a worker of a lower class the block would run with the quality of the operation.
            worker.append(completionBlock)
        } else {
            WorkerPool.submit(.block(completionBlock, .epilogue))
        }
    }
}
