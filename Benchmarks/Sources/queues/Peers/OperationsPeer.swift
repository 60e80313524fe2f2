import Dispatch
import Operations

/// Our own queue.
///
/// This file and its siblings never import Foundation, whose classes have the same names.
struct OperationsPeer: Contender {
    func independent(_ count: Int) -> Duration? {
        let marks = Marks(count: count)
        let queue = OperationQueue()
        let duration = time {
            for index in 0..<count { queue.addOperation(BlockOperation { marks.mark(index) }) }
            queue.waitUntilAllOperationsAreFinished()
        }
        marks.release(expecting: 1, of: .operations)
        return duration
    }

    func closures(_ count: Int) -> Duration? {
        let marks = Marks(count: count)
        let queue = OperationQueue()
        let duration = time {
            for index in 0..<count { queue.addOperation { marks.mark(index) } }
            queue.waitUntilAllOperationsAreFinished()
        }
        marks.release(expecting: 1, of: .operations)
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
        marks.release(expecting: 1, of: .operations)
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

    func prioritized(_ priorities: [Int]) -> Duration? {
        let marks = Marks(count: priorities.count)
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        queue.isSuspended = true
        let duration = time {
            for (index, priority) in priorities.enumerated() {
                let operation = BlockOperation { marks.mark(index) }
                operation.queuePriority = Operation.QueuePriority(clamping: priority)
                queue.addOperation(operation)
            }
            queue.isSuspended = false
            queue.waitUntilAllOperationsAreFinished()
        }
        marks.release(expecting: 1, of: .operations)
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
        marks.release(expecting: 0, of: .operations)
        return duration
    }

    func resumed(_ count: Int) -> Duration? {
        let (marks, resumer) = (Marks(count: count), Resumer(count: count))
        let queue = OperationQueue()
        let duration = time {
            for index in 0..<count {
                let operation = TypedOperation<Void> {
                    await resumer.pause()
                    marks.mark(index)
                }
                queue.addOperation(operation)
            }
            queue.waitUntilAllOperationsAreFinished()
        }
        marks.release(expecting: 1, of: .operations)
        return duration
    }

    func typedChain(_ count: Int) -> Duration? {
        let queue = OperationQueue()
        var latest = TypedOperation { 0 }
        let duration = time {
            queue.addOperation(latest)
            for _ in 0..<count { latest = queue.add(after: latest) { $0 + 1 } }
            latest.waitUntilFinished()
        }
        precondition((try? latest.result) == count)
        return duration
    }

    func asyncChain(_ count: Int) -> Duration? {
        let queue = OperationQueue()
        var latest = TypedOperation { 0 }
        let duration = time {
            queue.addOperation(latest)
            for _ in 0..<count {
                latest = queue.add(after: latest) { (number) async -> Int in number + 1 }
            }
            latest.waitUntilFinished()
        }
        precondition((try? latest.result) == count)
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
        marks.release(expecting: 1, of: .operations)
        return duration
    }
}
