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

    func isSame(as other: QueueExecutor) -> Bool {
        switch (self, other) {
        case (.workers, .workers), (.mainThread, .mainThread): true
        case (.dispatch(let queue), .dispatch(let other)): queue === other
        case (.workers, _), (.mainThread, _), (.dispatch, _): false
        }
    }
}

/// A queue that has something runnable, on its way to its executor.
struct QueueOffer {
    /// Retained.
    let queue: Unmanaged<OperationQueue>
    let executor: QueueExecutor
    let urgency: Urgency

    func accept() {
        let queue = queue.takeRetainedValue()
        switch executor {
        case .workers:
            guard let tasks = queue.tasks else {
                return WorkerPool.shared.submit(.queue(queue, urgency))
            }
            tasks.submit { Worker.runInTask(queue, offered: urgency) }
        case .mainThread: MainThread.perform { queue.runNext(on: executor) }
        case .dispatch(let underlying): underlying.async { queue.runNext(on: executor) }
        }
    }
}
