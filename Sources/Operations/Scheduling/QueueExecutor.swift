import Dispatch

/// Where a queue's operations run.
enum QueueExecutor {
    case workers
    case mainThread
    case dispatch(DispatchQueue)

    var underlyingQueue: DispatchQueue? {
        switch self {
        case .workers: nil
        case .mainThread: .main
        case .dispatch(let queue): queue
        }
    }
}

/// A queue that has something runnable, on its way to its executor.
struct QueueOffer {
    /// Retained.
    let queue: Unmanaged<OperationQueue>
    let executor: QueueExecutor

    func accept() {
        let queue = queue.takeRetainedValue()
        switch executor {
        case .workers: WorkerPool.shared.submit(.queue(queue))
        case .mainThread: MainThread.perform { queue.runNext() }
        case .dispatch(let underlying): underlying.async { queue.runNext() }
        }
    }
}
