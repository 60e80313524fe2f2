import Dispatch
import Foundation

/// Foundation's queue, with the same code as our own peer except for features that Foundation
/// lacks.
///
/// This file and its siblings never import Operations, whose classes have the same names.
struct FoundationPeer: Contender {
    func independent(_ count: Int) -> Duration? {
        let marks = Marks(count: count)
        let queue = OperationQueue()
        let duration = time {
            for index in 0..<count { queue.addOperation(BlockOperation { marks.mark(index) }) }
            queue.waitUntilAllOperationsAreFinished()
        }
        marks.release(expecting: 1, of: .foundation)
        return duration
    }

    func closures(_ count: Int) -> Duration? {
        let marks = Marks(count: count)
        let queue = OperationQueue()
        let duration = time {
            for index in 0..<count { queue.addOperation { marks.mark(index) } }
            queue.waitUntilAllOperationsAreFinished()
        }
        marks.release(expecting: 1, of: .foundation)
        return duration
    }

    func mixed(_ count: Int) -> Duration? {
        let marks = Marks(count: count)
        let queue = OperationQueue()
        let duration = time {
            for index in 0..<count {
                if index % 1_000 == 0 {
                    queue.addOperation(BlockOperation { marks.mark(index) })
                } else {
                    queue.addOperation { marks.mark(index) }
                }
            }
            queue.waitUntilAllOperationsAreFinished()
        }
        marks.release(expecting: 1, of: .foundation)
        return duration
    }

    func bytesQueued(_ count: Int) -> Double? {
        let marks = Marks(count: count)
        let queue = OperationQueue()
        queue.isSuspended = true
        guard let before = ResidentMemory.bytes else { return nil }
        for index in 0..<count { queue.addOperation { marks.mark(index) } }
        guard let after = ResidentMemory.bytes else { return nil }
        return Double(after - before) / Double(count)
    }

    func run(_ graph: Graph) -> Duration? {
        let marks = Marks(count: graph.count)
        let queue = OperationQueue()
        let duration = time {
            let operations = (0..<graph.count).map { index in
                BlockOperation { marks.mark(index) }
            }
            for index in 0..<graph.count {
                for dependency in graph.dependencies(of: index) {
                    operations[index].addDependency(operations[dependency])
                }
            }
            // Much faster in Foundation than adding all operations in one call.
            for operation in operations { queue.addOperation(operation) }
            queue.waitUntilAllOperationsAreFinished()
        }
        marks.release(expecting: 1, of: .foundation)
        return duration
    }

    func prioritized(_ priorities: [Int]) -> Duration? {
        let marks = Marks(count: priorities.count)
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        queue.isSuspended = true
        let duration = time {
            for (index, priority) in priorities.enumerated() {
                let operation = BlockOperation { marks.mark(index) }
                operation.queuePriority = Operation.QueuePriority(rawValue: priority) ?? .normal
                queue.addOperation(operation)
            }
            queue.isSuspended = false
            queue.waitUntilAllOperationsAreFinished()
        }
        marks.release(expecting: 1, of: .foundation)
        return duration
    }

    func cancelled(_ count: Int) -> Duration? {
        let marks = Marks(count: count)
        let queue = OperationQueue()
        queue.isSuspended = true
        let duration = time {
            for index in 0..<count { queue.addOperation(BlockOperation { marks.mark(index) }) }
            queue.cancelAllOperations()
            queue.isSuspended = false
            queue.waitUntilAllOperationsAreFinished()
        }
        marks.release(expecting: 0, of: .foundation)
        return duration
    }

    func asynchronous(_ count: Int) -> Duration? {
        let marks = Marks(count: count)
        let queue = OperationQueue()
        let duration = time {
            for index in 0..<count {
                queue.addOperation(TaskOperation { marks.mark(index) })
            }
            queue.waitUntilAllOperationsAreFinished()
        }
        marks.release(expecting: 1, of: .foundation)
        return duration
    }

    func produced(_ count: Int, by producers: Int) -> Duration? {
        let share = count / producers
        let marks = Marks(count: share * producers)
        let queue = OperationQueue()
        let start = Threads.race(producers) { producer in
            for index in producer * share..<(producer + 1) * share {
                queue.addOperation { marks.mark(index) }
            }
        }
        queue.waitUntilAllOperationsAreFinished()
        let duration = ContinuousClock.now - start
        marks.release(expecting: 1, of: .foundation)
        return duration
    }
}
