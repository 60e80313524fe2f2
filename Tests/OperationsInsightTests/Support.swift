import Operations

func serialQueue() -> OperationQueue {
    let queue = OperationQueue()
    queue.maxConcurrentOperationCount = 1
    return queue
}

func suspendedQueue() -> OperationQueue {
    let queue = OperationQueue()
    queue.isSuspended = true
    return queue
}

func block(_ name: String, _ body: @escaping @Sendable () -> Void = {}) -> BlockOperation {
    let operation = BlockOperation(block: body)
    operation.name = name
    return operation
}

extension OperationQueue {
    /// Waits without blocking the test's task.
    func drain() async { await waitUntilAllOperationsAreFinished() }
}
