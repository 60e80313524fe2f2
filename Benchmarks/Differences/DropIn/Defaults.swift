import Foundation

func defaults() {
    let operation = Operation()
    line("isReady", operation.isReady)
    line("isExecuting", operation.isExecuting)
    line("isFinished", operation.isFinished)
    line("isCancelled", operation.isCancelled)
    line("isAsynchronous", operation.isAsynchronous)
    line("dependencies", operation.dependencies.count)
    line("queuePriority", operation.queuePriority.rawValue)
    line("qualityOfService", word(for: operation.qualityOfService))
    line("name", operation.name)
    line("completionBlock", operation.completionBlock == nil)

    line("blocks of an empty block operation", BlockOperation().executionBlocks.count)
    line("blocks of a block operation", BlockOperation {}.executionBlocks.count)
    line("a block operation is asynchronous", BlockOperation {}.isAsynchronous)

    let queue = OperationQueue()
    line("the default width", OperationQueue.defaultMaxConcurrentOperationCount)
    line("maxConcurrentOperationCount", queue.maxConcurrentOperationCount)
    line("isSuspended", queue.isSuspended)
    line("operationCount", queue.operationCount)
    line("operations", queue.operations.count)
    line("qualityOfService of a queue", word(for: queue.qualityOfService))
    line("underlyingQueue", queue.underlyingQueue == nil)

    line("the main queue is one object", OperationQueue.main === OperationQueue.main)
    line("width of the main queue", OperationQueue.main.maxConcurrentOperationCount)
    line("quality of the main queue", word(for: OperationQueue.main.qualityOfService))
    line(
        "the main queue has the main dispatch queue",
        OperationQueue.main.underlyingQueue === DispatchQueue.main)

    let priorities: [Operation.QueuePriority] = [.veryLow, .low, .normal, .high, .veryHigh]
    line("values of priorities", priorities.map(\.rawValue))
    let qualities: [QualityOfService] = [
        .userInteractive, .userInitiated, .utility, .background, .default,
    ]
    line("values of qualities", qualities.map(\.rawValue))
}

func names() {
    let operation = Operation()
    operation.name = "load"
    line("a name", operation.name)
    operation.name = nil
    line("no name", operation.name)

    let queue = OperationQueue()
    line("name of a queue", queue.name.map(withoutAddresses))
    queue.name = "photos"
    line("a name of a queue", queue.name)
    queue.name = nil
    line("no name of a queue", queue.name.map(withoutAddresses))
    queue.name = ""
    line("an empty name of a queue", queue.name)
    line("name of the main queue", OperationQueue.main.name)

    operation.qualityOfService = .utility
    line("a quality", word(for: operation.qualityOfService))
    operation.queuePriority = .veryLow
    line("a priority", operation.queuePriority.rawValue)
    queue.qualityOfService = .background
    line("a quality of a queue", word(for: queue.qualityOfService))
    line("two operations are equal", Operation() == Operation())
    line("one operation is equal", operation == operation)
    line("in a set", Set([operation, operation, Operation()]).count)
}
