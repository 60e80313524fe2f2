import Synchronization

extension Operation {
    /// Runs an async body that has begun. The body runs in the worker's place if it needs no more
    /// than any task has. Otherwise the operation is detached from the batch.
    ///
    /// - Returns: the operation that follows at once in the batch.
    @inline(never)
    final func runInTask(of batch: Batch, in queue: OperationQueue) -> Unmanaged<Operation>? {
        if mayUseRunner(in: queue) {
            guard let run = preparedRun else { return AsyncRunner.run(self, of: batch, in: queue) }
            let isWithWorker = run._withUnsafeGuaranteedRef {
                $0.runPrepared(self, of: batch, in: queue)
            }
            return isWithWorker ? endOnFastPath(batch, in: queue) : nil
        }
        // The body begins on this thread and may keep it for long, so the rest is for other
        // workers.
        let operation = queue.detachCurrent(from: batch, keepingRest: false).takeRetainedValue()
        if queue.isObserved { queue.recordStart(of: operation) }
        operation.startTask()
        return nil
    }

    /// Whether the operation needs nothing that has to be done for its task alone.
    final func mayUseRunner(in queue: OperationQueue) -> Bool {
        // The flag `needsSetup` does not matter here, because it concerns the thread.
        !needsTaskPriority && queue.instrumentation.load(ordering: .relaxed) == 0
    }

    /// Runs a function on a thread made for it, and returns when the function has returned.
    final func runOnOwnThread(niceness: Int32, _ body: @escaping @Sendable () -> Void) {
        OwnThread.run(niceness: niceness, body)
    }
}
