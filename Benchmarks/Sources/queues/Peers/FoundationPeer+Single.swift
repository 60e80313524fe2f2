import Dispatch
import Foundation

/// Workloads for single operations: start latency, blocking work, and the cost of one change.
extension FoundationPeer {
    func latencies(_ count: Int) -> [Duration]? {
        let queue = OperationQueue()
        return Latency.measure(count) { block in queue.addOperation(BlockOperation(block: block)) }
    }

    func blockingInOne(_ count: Int, milliseconds: Int) -> Duration? {
        let queue = OperationQueue()
        return time {
            let operation = BlockOperation()
            for _ in 0..<count {
                operation.addExecutionBlock { Threads.pause(milliseconds: milliseconds) }
            }
            queue.addOperations([operation], waitUntilFinished: true)
        }
    }

    func blocking(_ count: Int, milliseconds: Int) -> Duration? {
        let queue = OperationQueue()
        return time {
            for _ in 0..<count {
                queue.addOperation { Threads.pause(milliseconds: milliseconds) }
            }
            queue.waitUntilAllOperationsAreFinished()
        }
    }

    func queues(_ count: Int, blocksEach: Int) -> Duration? {
        let marks = Marks(count: max(1, count * blocksEach))
        let duration = time {
            var queues = (0..<count).map { _ in OperationQueue() }
            for (number, queue) in queues.enumerated() {
                for index in 0..<blocksEach {
                    queue.addOperation { marks.mark(number * blocksEach + index) }
                }
            }
            for queue in queues { queue.waitUntilAllOperationsAreFinished() }
            queues = []
        }
        marks.release(expecting: blocksEach == 0 ? 0 : 1, of: .foundation)
        return duration
    }

    func changes(among count: Int) -> Changes? {
        let queue = OperationQueue()
        queue.isSuspended = true
        let operations = (0..<count).map { _ in BlockOperation {} }
        queue.addOperations(operations, waitUntilFinished: false)
        let victims = Changes.victims(among: count).map { operations[$0] }
        let blocker = Operation()
        let priority = time { for victim in victims { victim.queuePriority = .high } }
        let add = time { for victim in victims { victim.addDependency(blocker) } }
        let remove = time { for victim in victims { victim.removeDependency(blocker) } }
        let cancel = time { for victim in victims { victim.cancel() } }
        queue.cancelAllOperations()
        queue.isSuspended = false
        queue.waitUntilAllOperationsAreFinished()
        return Changes(
            priority: priority, addDependency: add, removeDependency: remove, cancel: cancel
        ).each(of: victims.count)
    }
}
