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

extension OperationQueue {
    /// Waits without blocking the test's task.
    func drain() async { await waitUntilAllOperationsAreFinished() }
}
