import Dispatch
import Operations

/// Workloads in which each item is found or released among many items of its kind.
extension OperationsPeer {
    func grown(_ growth: Growth, _ count: Int) -> Duration? {
        switch growth {
        case .operationTimeouts:
            let operation = BlockOperation {}
            defer { operation.start() }
            return timeouts(count) { await operation.finished(within: .milliseconds(100)) }
        case .queueTimeouts:
            let queue = OperationQueue()
            queue.isSuspended = true
            queue.addOperation {}
            defer { queue.isSuspended = false }
            return timeouts(count) { await queue.finished(within: .milliseconds(100)) }
        case .barriers: return barriers(count)
        case .nestedWaits: return nestedWaits(count)
        case .nestedGroups: return nestedGroups(count)
        case .nestedProgress: return nestedProgress(count)
        case .observations: return observations(count)
        case .unequalKeys: return unequalKeys(count)
        }
    }

    /// Returns the duration less the timeout that all waits share.
    private func timeouts(
        _ count: Int, _ wait: @escaping @Sendable () async -> Bool
    ) -> Duration {
        let done = DispatchSemaphore(value: 0)
        let duration = time {
            Task.detached {
                await withDiscardingTaskGroup { group in
                    for _ in 0..<count { group.addTask { _ = await wait() } }
                }
                done.signal()
            }
            done.wait()
        }
        return max(duration - .milliseconds(100), .zero)
    }

    private func barriers(_ count: Int) -> Duration {
        let queue = OperationQueue()
        queue.isSuspended = true
        return time {
            for _ in 0..<count { queue.addBarrierBlock {} }
            queue.isSuspended = false
            queue.waitUntilAllOperationsAreFinished()
        }
    }

    private func nestedWaits(_ count: Int) -> Duration {
        let queue = OperationQueue()
        return time {
            _ = nested(count, in: queue)
            queue.waitUntilAllOperationsAreFinished()
        }
    }

    private func nested(_ depth: Int, in queue: OperationQueue) -> Operation {
        let operation = BlockOperation {
            if depth > 1 { nested(depth - 1, in: queue).waitUntilFinished() }
        }
        queue.addOperation(operation)
        return operation
    }

    private func nestedGroups(_ count: Int) -> Duration {
        let queue = OperationQueue()
        return time {
            var last: Operation = BlockOperation {}
            for _ in 0..<count {
                let inner = last
                last = GroupOperation { inner }
            }
            queue.addOperation(last)
            queue.waitUntilAllOperationsAreFinished()
        }
    }

    private func nestedProgress(_ count: Int) -> Duration {
        time {
            let root = Operations.Progress.discreteProgress(totalUnitCount: 1)
            var last = root
            for _ in 0..<count {
                last = Progress(totalUnitCount: 1, parent: last, pendingUnitCount: 1)
            }
            last.completedUnitCount = 1
            root.cancel()
        }
    }

    private func observations(_ count: Int) -> Duration {
        let operation = BlockOperation {}
        return time {
            var observations = (0..<count).map { _ in operation.observe(\.isFinished) { _, _ in } }
            while let newest = observations.popLast() { newest.invalidate() }
        }
    }

    private func unequalKeys(_ count: Int) -> Duration {
        let queue = OperationQueue()
        queue.isSuspended = true
        return time {
            for _ in 0..<count { queue.add(.exclusive(by: Double.nan)) {} }
            queue.isSuspended = false
            queue.waitUntilAllOperationsAreFinished()
        }
    }
}
