package import Operations

/// Makes an operation that does nothing and has a name.
package func named(_ name: String) -> Operation {
    let operation = Operation()
    operation.name = name
    return operation
}

/// Makes a queue that runs one operation at a time.
package func serialQueue() -> OperationQueue {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    return queue
}

/// Makes a queue that starts no operation until it is resumed.
package func suspendedQueue() -> OperationQueue {
    let queue = OperationQueue()
    queue.isSuspended = true
    return queue
}

extension OperationQueue {
    /// Waits without blocking the test's task.
    package func drain() async { await waitUntilAllOperationsAreFinished() }
}
