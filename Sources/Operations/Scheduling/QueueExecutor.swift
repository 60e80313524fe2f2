public import Dispatch
import OperationsRuntime

/// The executor that runs a queue's operations.
enum QueueExecutor {
    case workers
    case mainThread
    case dispatch(DispatchQueue)
    /// The queue's `driver`.
    case driver

    var underlyingQueue: DispatchQueue? {
        switch self {
        case .workers, .driver: nil
        case .mainThread: .main
        case .dispatch(let queue): queue
        }
    }

    /// Whether the main thread runs the operations.
    var isMainThread: Bool {
        switch self {
        case .workers, .driver: false
        case .mainThread: true
        case .dispatch(let queue): MainThread.isServed(by: queue)
        }
    }

    func isSame(as other: QueueExecutor) -> Bool {
        switch (self, other) {
        case (.workers, .workers), (.mainThread, .mainThread), (.driver, .driver): true
        case (.dispatch(let queue), .dispatch(let other)): queue === other
        case (.workers, _), (.mainThread, _), (.dispatch, _), (.driver, _): false
        }
    }
}

/// A queue that has something to run, on its way to its executor.
struct QueueOffer {
    /// Retained.
    let queue: Unmanaged<OperationQueue>
    let executor: QueueExecutor
    let urgency: Urgency

    func accept() {
        let queue = queue.takeRetainedValue()
        switch executor {
        case .workers: WorkerPool.submit(.queue(queue, urgency))
        case .mainThread: MainThread.perform { queue.runNext(on: executor) }
        case .driver: queue.driver?.offer(queue)
        case .dispatch(let underlying): underlying.async { queue.runNext(on: executor) }
        }
    }
}

extension OperationQueue {
    /// Sets ``underlyingQueue``, but throws where the property's setter stops the program.
    ///
    /// - Throws: ``OperationMisuse`` with kind `queueNotEmpty` or `controlledByTestScheduler`.
    public final func setUnderlyingQueueChecked(
        _ queue: DispatchQueue?
    ) throws(OperationMisuse) {
        guard !isMain else { return }
        if driver != nil { throw .underlyingQueueOfDriven(label) }
        let executor = queue.map { QueueExecutor.dispatch($0) } ?? .workers
        guard setExecutor(executor) else { throw .underlyingQueueChange(of: label) }
    }
}
